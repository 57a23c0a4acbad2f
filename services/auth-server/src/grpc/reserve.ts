import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import { CallRefused } from '../domain/call-refused.js'
import type { LimitName, PaymentContent, RefusalReason } from '../domain/limits.js'
import type { RefusingItem, Remaining } from '../domain/remaining.js'
import { answerEach } from './answer-each.js'
import { readAccessToken, readAmount, readSha256, readUrl, readUuid } from './request-fields.js'
import {
  type Payment,
  reserveLimits,
  type ReserveLimitsDependencies,
  type ReserveResult
} from '../features/reserve-limits/reserve-limits.js'

/** `GrantLimitsService.Reserve`. */
export function reserveRpc(
  dependencies: ReserveLimitsDependencies & { readonly logger: Logger }
): UnaryHandler<auth.ReserveRequest, auth.ReserveResponse> {
  const call = {
    field: 'reservations',
    read: readPayment,
    together: (payments: readonly Payment[]) => reserveLimits(payments, dependencies),
    answer: toAnswer,
    logger: dependencies.logger
  }
  return async ({ reservations }) => {
    const results = await answerEach(reservations, call)
    return { results: results.map((result) => ({ result })) }
  }
}

function readPayment(request: auth.ReservationRequest): Payment {
  return { paymentId: readUuid(request.paymentId, 'payment_id'), content: readContent(request) }
}

function readContent(request: auth.ReservationRequest): PaymentContent {
  return {
    tokenHash: hashSecret(readAccessToken(request.accessToken)),
    walletAddress: readUrl(request.walletAddress, 'wallet_address'),
    receiver: readUrl(request.receiver, 'receiver'),
    debitAmount: readAmount(request.debitAmount, 'debit_amount'),
    receiveAmount: readAmount(request.receiveAmount, 'receive_amount'),
    requestHash: readSha256(request.requestHash, 'request_hash')
  }
}

function toAnswer(result: ReserveResult, { content }: Payment): auth.ReservationResult['result'] {
  switch (result.kind) {
    case 'reserved': {
      const { grantId, spent, chargedAtMs, wasReservedBefore } = result
      const value = {
        grantId,
        spentDebitAmount: formatAmount({ value: spent.spentDebitValue, asset: content.debitAmount.asset }),
        spentReceiveAmount: formatAmount({
          value: spent.spentReceiveValue,
          asset: content.receiveAmount.asset
        }),
        chargeTime: new Date(chargedAtMs),
        wasReservedBefore
      }
      return { $case: 'reserved', value }
    }
    case 'refused':
      return {
        $case: 'refused',
        value: {
          reason: REASONS[result.reason],
          remaining: result.remaining && toRemainingMessage(result.remaining, content),
          refusedBy: result.refusedBy && toRefusingItemMessage(result.refusedBy)
        }
      }
    case 'mismatch':
      throw new CallRefused('different-request', 'payment_id was used by another request', {
        field: 'payment_id'
      })
    case 'other-amounts':
      throw new CallRefused('other-amounts', 'payment_id has reserved other amounts', { field: 'payment_id' })
  }
}

function toRemainingMessage(
  { debitValue, receiveValue, nextIntervalAtMs }: Remaining,
  { debitAmount, receiveAmount }: PaymentContent
): auth.Remaining {
  return {
    debitAmount: debitValue === undefined ? undefined : formatAmount({ ...debitAmount, value: debitValue }),
    receiveAmount:
      receiveValue === undefined ? undefined : formatAmount({ ...receiveAmount, value: receiveValue }),
    nextIntervalTime: nextIntervalAtMs === undefined ? undefined : new Date(nextIntervalAtMs)
  }
}

function toRefusingItemMessage({ accessIndex, limits }: RefusingItem): auth.RefusingItem {
  return { accessIndex, limits: limits.map((limit) => LIMITS[limit]) }
}

const LIMITS: Readonly<Record<LimitName, auth.LimitName>> = {
  receiver: auth.LimitName.LIMIT_NAME_RECEIVER,
  interval: auth.LimitName.LIMIT_NAME_INTERVAL,
  debitAmount: auth.LimitName.LIMIT_NAME_DEBIT_AMOUNT,
  receiveAmount: auth.LimitName.LIMIT_NAME_RECEIVE_AMOUNT
}

const REASONS: Readonly<Record<RefusalReason, auth.RefusalReason>> = {
  'inactive-token': auth.RefusalReason.REFUSAL_REASON_INACTIVE_TOKEN,
  'insufficient-grant': auth.RefusalReason.REFUSAL_REASON_INSUFFICIENT_GRANT,
  'limit-exceeded': auth.RefusalReason.REFUSAL_REASON_LIMIT_EXCEEDED,
  'outside-interval': auth.RefusalReason.REFUSAL_REASON_OUTSIDE_INTERVAL,
  'client-frozen': auth.RefusalReason.REFUSAL_REASON_CLIENT_FROZEN,
  'grant-paused': auth.RefusalReason.REFUSAL_REASON_GRANT_PAUSED,
  released: auth.RefusalReason.REFUSAL_REASON_RELEASED
}
