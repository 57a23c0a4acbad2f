import type { Answer } from '@open-payments-server/testing'
import type { Correspondence } from '../wallets.js'
import { valueAt } from './crossing.js'
import { differs, sum } from './differs.js'
import type { BookedPayment, OrderBook } from './order-book.js'
import type { SystemPackets } from './packets.js'

/** An outgoing payment that has ended, as its client reads it and as both systems have it. */
export interface PaymentEnd extends BookedPayment {
  /** URL of its receiver. */
  readonly receiver: string
  readonly hasFailed: boolean
  /** Its `sentAmount`. */
  readonly sentValue: bigint
  /** What its receiver got of it. */
  readonly arrivedValue: bigint
  /** What counts as received under its grant. */
  readonly countedValue: bigint
  readonly disagreements: readonly string[]
}

/** An incoming payment, as its client reads it. */
export interface ReceiverEnd extends BookedPayment {
  /** Its `receivedAmount`. */
  readonly receivedValue: bigint
  readonly disagreements: readonly string[]
}

/** Reads all payments of a book as their clients do, and compares them with what was settled, and with the packets. */
export async function readEnds(
  { outgoing, incoming }: OrderBook,
  packets: readonly SystemPackets[]
): Promise<{ readonly payments: readonly PaymentEnd[]; readonly receivers: readonly ReceiverEnd[] }> {
  const payments = await Promise.all(outgoing.map((payment) => readEnd(payment, packets)))
  const receivers = await Promise.all(
    incoming.map((receiver) => readReceiverEnd(receiver, { payments, packets }))
  )
  return { payments, receivers }
}

/** Whether both wallets of a correspondence are at one system. */
export function isLocal({ payer, payee }: Correspondence): boolean {
  return payer.system === payee.system
}

async function readEnd(booked: BookedPayment, packets: readonly SystemPackets[]): Promise<PaymentEnd> {
  const { by, url } = booked
  const id = idOf(url)
  const [answer, [settled]] = await Promise.all([
    by.read('outgoing', url),
    by.payer.system.resourceDatabase.query<{ value: string; fixedFee: string }>(
      'select settled_receive_value as value, fixed_fee_value as "fixedFee" from outgoing_payment where id = $1',
      [id]
    )
  ])
  const countedValue = BigInt(settled?.value ?? -1)
  const own = packets
    .filter(({ sender }) => sender === by.payer.system)
    .map(({ sent, received }) => {
      const ownSent = sent.filter(({ paymentId }) => paymentId === id)
      const conditions = new Set(ownSent.map(({ condition }) => condition))
      return { sent: ownSent, received: received.filter(({ condition }) => conditions.has(condition)) }
    })
  const arrivedValue = isLocal(by)
    ? countedValue
    : sum(
        own.flatMap(({ received }) => received),
        ({ value }) => value
      )
  // The same, unless operators decided about packets.
  const knownValue = isLocal(by)
    ? countedValue
    : sum(
        own.flatMap(({ sent }) => sent),
        ({ deliveredValue }) => deliveredValue
      )
  const sentValue = valueAt(answer, 'sentAmount')
  const hasFailed = answer.at('failed') === true
  const due = settlementOf(answer, knownValue, {
    isLocal: isLocal(by),
    fixedFee: BigInt(settled?.fixedFee ?? 0)
  })
  return {
    ...booked,
    receiver: answer.textAt('receiver'),
    hasFailed,
    sentValue,
    arrivedValue,
    countedValue,
    disagreements: [
      ...differs(`sentAmount of ${url}`, sentValue, due.sentValue),
      ...differs(`what counts as received of ${url}`, countedValue, due.countedValue),
      ...(hasFailed === due.hasFailed ? [] : [`failed of ${url}: ${String(hasFailed)}`])
    ]
  }
}

/**
 * What a payment must come to if so much of it arrived: the sender pays its share, rounded up, and to another provider the fixed part of the fee
 * whole. Where that is all of it, a payment to another provider is completed; of one within a provider less is delivered instead.
 */
function settlementOf(
  answer: Answer,
  arrivedValue: bigint,
  { isLocal, fixedFee }: { readonly isLocal: boolean; readonly fixedFee: bigint }
): { readonly hasFailed: boolean; readonly sentValue: bigint; readonly countedValue: bigint } {
  const [debit, receive] = [valueAt(answer, 'debitAmount'), valueAt(answer, 'receiveAmount')]
  const shared = debit - fixedFee
  const most = ((shared - 1n) * receive) / shared
  if (arrivedValue >= receive || (!isLocal && arrivedValue > most)) {
    return { hasFailed: false, sentValue: debit, countedValue: receive }
  }
  const countedValue = arrivedValue < most ? arrivedValue : most
  const sharedSent = (shared * countedValue + receive - 1n) / receive
  return { hasFailed: true, sentValue: countedValue === 0n ? 0n : fixedFee + sharedSent, countedValue }
}

async function readReceiverEnd(
  booked: BookedPayment,
  found: { readonly payments: readonly PaymentEnd[]; readonly packets: readonly SystemPackets[] }
): Promise<ReceiverEnd> {
  const { by, url } = booked
  const answer = await by.read('incoming', url)
  const receivedValue = valueAt(answer, 'receivedAmount')
  const brought = found.packets
    .filter(({ receiver }) => receiver === by.payee.system)
    .flatMap(({ received }) => received)
    .filter(({ incomingPaymentId }) => incomingPaymentId === idOf(url))
  const local = found.payments.filter((payment) => payment.receiver === url && isLocal(payment.by))
  const paid = found.payments.filter((payment) => payment.receiver === url)
  const wanted = answer.at('incomingAmount') === undefined ? undefined : valueAt(answer, 'incomingAmount')
  return {
    ...booked,
    receivedValue,
    disagreements: [
      ...differs(
        `receivedAmount of ${url}, by packets`,
        receivedValue,
        sum(brought, ({ value }) => value) + sum(local, ({ arrivedValue }) => arrivedValue)
      ),
      ...differs(
        `receivedAmount of ${url}, by payments`,
        receivedValue,
        sum(paid, ({ arrivedValue }) => arrivedValue)
      ),
      ...(wanted !== undefined && receivedValue > wanted
        ? [`${url} received ${String(receivedValue)} of ${String(wanted)}`]
        : [])
    ]
  }
}

function idOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1)
}
