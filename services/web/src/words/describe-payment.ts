import { parseAmountValue } from '@open-payments-server/value-types/amounts'
import type { Payment } from '../domain/payment.js'
import type { Speech } from './languages.js'
import { addressOf, domainOf, presentableName, presentableText } from './presentable.js'

/** A payment in words. */
export interface PaymentWords {
  readonly amount: string
  /** Name of the payee, or its address. */
  readonly payee: string
  /** Address of the payee where its name is told. */
  readonly address: string | undefined
  readonly state: Payment['state']
  readonly stateWords: string
  readonly when: string
  /** What it is for, why it failed, what became of it. */
  readonly remarks: readonly string[]
}

/** Says what was paid, to whom, and what became of it. */
export function describePayment(payment: Payment, { messages, formats }: Speech): PaymentWords {
  const words = messages.allowed
  const { state, debit, sent, received, refunded, receiver, failureReason } = payment
  const name = presentableName(receiver.name)
  const address = receiver.place === 'here' ? addressOf(receiver.walletAddress) : domainOf(receiver.url)
  const description = presentableText(receiver.description)
  const isOver = state === 'completed' || state === 'failed'
  const isOtherAsset = received.assetCode !== debit.assetCode || received.assetScale !== debit.assetScale
  return {
    amount: formats.amount(state === 'completed' ? sent : debit),
    payee: name === '' ? address : name,
    address: name === '' ? undefined : address,
    state,
    stateWords: words.paymentStates[state],
    when: formats.instant(payment.createdAtMs),
    remarks: [
      ...(payment.refundOf === '' ? [] : [words.refundOf]),
      ...(description === '' ? [] : [description]),
      ...(state === 'failed' ? [words.failures[failureReason] ?? words.failed] : []),
      ...(state === 'failed' && isSome(sent.value) ? [words.partly(formats.amount(sent))] : []),
      ...(isOver && isOtherAsset && isSome(received.value) ? [words.gets(formats.amount(received))] : []),
      ...(isSome(refunded.value) ? [words.refunded(formats.amount(refunded))] : [])
    ]
  }
}

function isSome(value: string): boolean {
  return parseAmountValue(value) > 0n
}
