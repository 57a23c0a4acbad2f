import { type Amount, type AmountWire, formatAmount } from '@open-payments-server/value-types/amounts'
import {
  type CommonReason,
  invalidField,
  Refusal,
  type RefusalOptions
} from '@open-payments-server/value-types/refusals'
import type { RefusalDetails } from './ports.js'
import { renderTime } from './representation.js'

export { invalidField }

/** Why a client's request is refused. `http/answers.ts` maps reasons to HTTP. */
export type RefusedBecause =
  | CommonReason
  /** The token is missing, malformed, or was not issued here. */
  | 'invalid-token'
  /** The token is expired, rotated or revoked, or its grant has ended. */
  | 'inactive-token'
  /** The signature is missing or not valid. */
  | 'invalid-signature'
  /** No access item covers the type, action and wallet address. */
  | 'insufficient-grant'
  /** Over the grant's limits, or outside its interval. */
  | 'over-limits'
  /** There is no such resource, or the client may not know of it. */
  | 'not-found'
  /** An operator froze the account, the wallet address or the client, or the account holder paused the grant. */
  | 'frozen'
  /** The resource's state does not allow it. */
  | 'conflict'
  /** What the request names cannot be paid, or not in this way. */
  | 'not-payable'
  /** The idempotency key, or the id derived from it, belongs to another request. */
  | 'different-request'
  /** Something that is needed cannot be asked now. */
  | 'unavailable'
  /** Exchange rates cannot be had now. */
  | 'rates-unavailable'

/** When a client may try again that was refused for want of something else, in seconds. */
const RETRY_AFTER_SECONDS = 1

/** When a client may try again that was refused for want of exchange rates, in seconds. */
const RATES_RETRY_AFTER_SECONDS = 5

/** When a client may try to wait again, in seconds. */
const WAITING_RETRY_AFTER_SECONDS = 5

/** A client's request was refused. */
export class RequestRefused extends Refusal<RefusedBecause> {}

/**
 * Whether there is a payment can be told by the database alone, and it does not answer. Whatever the client were told might
 * be untrue.
 */
export class ResultUnknown extends Error {
  override readonly name = 'ResultUnknown'

  /** @param paymentId the first id (UUID) that the payment may have */
  constructor(
    readonly paymentId: string,
    cause: unknown
  ) {
    super('the result of a payment is not known', { cause })
  }
}

// Every error that clients of the resource server can get, with the exact words that existing clients branch on.

function refusal(because: RefusedBecause, description: string, options?: RefusalOptions): Error {
  return new RequestRefused(because, description, options)
}

/** The token is missing, malformed, or was not issued here. */
export function invalidToken(): Error {
  return refusal('invalid-token', 'Invalid Token')
}

/** The token is expired, rotated or revoked, or its grant has ended. */
export function inactiveToken(): Error {
  return refusal('inactive-token', 'Inactive Token')
}

/** The signature is missing or not valid. */
export function invalidSignature(reason: string, cause?: unknown): Error {
  return refusal('invalid-signature', `Signature validation error: ${reason}`, { cause })
}

/** No access item covers the type, action and wallet address. */
export function insufficientGrant(): Error {
  return refusal('insufficient-grant', 'Insufficient Grant')
}

/**
 * Over the grant's limits, or outside its interval. The details are which limits refuse the payment, and what one payment
 * may still have now; only the token holder gets here.
 */
export function overLimits({ remaining, refusedBy }: RefusalDetails): Error {
  const nextIntervalAtMs = remaining?.nextIntervalAtMs
  const details = {
    refusedBy,
    remainingDebitAmount: wireOf(remaining?.debitAmount),
    remainingReceiveAmount: wireOf(remaining?.receiveAmount),
    nextIntervalAt: nextIntervalAtMs === undefined ? undefined : renderTime(nextIntervalAtMs)
  }
  const isTold = remaining !== undefined || refusedBy !== undefined
  return refusal('over-limits', 'unauthorized', { details: isTold ? details : undefined })
}

function wireOf(amount: Amount | undefined): AmountWire | undefined {
  return amount && formatAmount(amount)
}

/** There is no such resource, or the client may not know of it. */
export function notFound(): Error {
  return refusal('not-found', 'not found')
}

/**
 * The wallet address, or the account behind it, is frozen.
 *
 * @param isConsented whether its account holder consented to the grant: strangers are only told that it cannot be used now
 */
export function accountFrozen(isConsented: boolean): Error {
  return isConsented
    ? refusal('frozen', 'account frozen', { details: { reason: 'account_frozen' } })
    : refusal('frozen', 'the wallet address cannot be used now', {
        details: { walletAddress: 'cannot be used now' }
      })
}

/** The client is frozen: it may only read. Only the token holder, who signed the request, gets here. */
export function clientFrozen(): Error {
  return refusal('frozen', 'client frozen', { details: { reason: 'client_frozen' } })
}

/** The account holder paused the grant: it may only be used to read. Only the token holder, who signed the request, gets here. */
export function grantPaused(): Error {
  return refusal('frozen', 'grant paused', { details: { reason: 'grant_paused' } })
}

/** The resource's state does not allow it. */
export function conflict(description: string): Error {
  return refusal('conflict', description)
}

/** The receiver is not a payable incoming payment. */
export function invalidReceiver(cause?: unknown): Error {
  const details = { receiver: 'not an incoming payment that can be paid' }
  return refusal('not-payable', 'invalid receiver', { details, cause })
}

/** Neither the receiver nor the request names an amount. */
export function amountMissing(): Error {
  const details = { receiver: 'it has no incomingAmount: a receiveAmount or a debitAmount is required' }
  return refusal('not-payable', 'invalid receiver', { details })
}

/** The quote is unknown, expired, used, or another client's. */
export function invalidQuote(): Error {
  return refusal('not-payable', 'invalid quote', { details: { quoteId: 'unknown, expired or used' } })
}

/**
 * The payment named by `refundOf` cannot be refunded by this payment.
 *
 * @param problem why not
 */
export function invalidRefund(problem: string): Error {
  return refusal('not-payable', 'invalid refund', { details: { refundOf: problem } })
}

/** The wallet address named in a body or query is not hosted here. */
export function unknownWalletAddress(field: string): Error {
  const details = { [field]: 'not a wallet address hosted here' }
  return refusal('invalid-field', 'unknown wallet address', { details })
}

/** An amount is in a different asset from the wallet address or the receiver. */
export function assetMismatch(
  field: string,
  given: { code: string; scale: number },
  expected: { code: string; scale: number },
  owner = 'the wallet address'
): Error {
  return invalidField(
    field,
    `assetCode ${given.code} and assetScale ${String(given.scale)} differ from ${owner}'s ${expected.code} and ${String(expected.scale)}`
  )
}

/** There is no exchange rate from one asset to the other. */
export function noRate(source: string, target: string): Error {
  const details = { receiver: `its asset ${target} cannot be paid from ${source}` }
  return refusal('not-payable', `no exchange rate from ${source} to ${target}`, { details })
}

/**
 * The amount is too small to deliver anything.
 *
 * @param minSendAmount the smallest debit that would deliver something, as an amount on the wire
 */
export function nonPositiveReceiveAmount(minSendAmount: AmountWire): Error {
  return refusal('not-payable', 'non-positive receive amount: the amount is too small to deliver anything', {
    details: { minSendAmount }
  })
}

/**
 * As many clients wait already as may wait.
 *
 * @param of whose limit is reached: the client's own, or that of this replica
 */
export function tooManyWaiting(of: 'client' | 'replica'): Error {
  const options = { retryAfterSeconds: WAITING_RETRY_AFTER_SECONDS }
  if (of === 'client')
    return refusal('too-many-requests', 'too many requests of this client are waiting', options)
  return refusal('unavailable', 'too many clients are waiting', options)
}

/** Something that is needed cannot be asked now. */
export function temporarilyUnavailable(cause: unknown): Error {
  return refusal('unavailable', 'temporarily unavailable', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause
  })
}

/** Exchange rates cannot be had now. */
export function ratesUnavailable(cause: unknown): Error {
  return refusal('rates-unavailable', 'exchange rates are temporarily unavailable', {
    retryAfterSeconds: RATES_RETRY_AFTER_SECONDS,
    cause
  })
}

/** The idempotency key, or the id derived from it, belongs to another request. */
export function differentRequest(): Error {
  return refusal('different-request', 'the Idempotency-Key was used with another request', {
    details: { 'Idempotency-Key': 'used with another request' }
  })
}
