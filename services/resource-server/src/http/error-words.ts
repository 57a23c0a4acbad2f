import { COMMON_WORDS, type ErrorWords } from '@open-payments-server/value-types/refusals'
import type { RefusedBecause } from '../domain/errors.js'

/** A refusal in words, and the descriptions by which existing clients tell what they got. */
export interface DescribedErrorWords extends ErrorWords {
  /** How `error.description` begins; none if only the code says what it is. */
  readonly descriptions: readonly string[]
}

/** Every reason for which a request is refused, for the client. */
export const ERROR_WORDS: Readonly<Record<RefusedBecause, DescribedErrorWords>> = {
  'invalid-field': { ...COMMON_WORDS['invalid-field'], descriptions: ['invalid ', 'unknown wallet address'] },
  'unknown-format': { ...COMMON_WORDS['unknown-format'], descriptions: [] },
  'too-many-requests': { ...COMMON_WORDS['too-many-requests'], descriptions: [] },
  'invalid-token': {
    descriptions: ['Invalid Token'],
    meaning: 'The token is missing, malformed, or was not issued by the auth server in `WWW-Authenticate`.',
    advice: 'Request a grant there.'
  },
  'inactive-token': {
    descriptions: ['Inactive Token'],
    meaning: 'The token is expired, rotated or revoked, or its grant has ended.',
    advice: 'Rotate the token. If that is refused, request a new grant.'
  },
  'invalid-signature': {
    descriptions: ['Signature validation error'],
    meaning: 'The signature is missing or not valid.',
    advice: 'Sign the request anew with a key that the client publishes, and check the clock.'
  },
  'insufficient-grant': {
    descriptions: ['Insufficient Grant'],
    meaning: 'No access item of the token is for this type, action and wallet address.',
    advice: 'Request a grant with such an item.'
  },
  'over-limits': {
    descriptions: ['unauthorized'],
    meaning:
      "Over the grant's limits, or outside its interval. `details` says which limits of which access item refuse the payment (`refusedBy.accessIndex`, from 0, and `refusedBy.limits`), what one payment to the same receiver may still have (`remainingDebitAmount`, `remainingReceiveAmount`), and when the next interval begins (`nextIntervalAt`, absent if none does).",
    advice: 'Pay at most what remains, or wait for the next interval. Otherwise request a new grant.'
  },
  'not-found': {
    descriptions: ['not found'],
    meaning: 'There is no such resource, or the client may not know of it.',
    advice: 'Use the `id` of the resource, and a token of its client or with `read-all`.'
  },
  frozen: {
    descriptions: [
      'account frozen',
      'client frozen',
      'grant paused',
      'the wallet address cannot be used now'
    ],
    meaning:
      'An operator froze the account, the wallet address or the client, or the account holder paused the grant. `details.reason` says which: `account_frozen`, `client_frozen` or `grant_paused`. Without the consent of the account holder it is not told.',
    advice: 'Do not repeat the request. The account holder can ask the provider until when.'
  },
  conflict: {
    descriptions: [],
    meaning:
      'The state of the resource does not allow it: an incoming payment that is completed or expired; or the same request is still running.',
    advice: 'Read the resource. Repeat a request that is still running later.'
  },
  'not-payable': {
    descriptions: [
      'invalid receiver',
      'invalid quote',
      'invalid refund',
      'no exchange rate',
      'non-positive receive amount'
    ],
    meaning:
      'What the request names cannot be paid, or not in this way. `details` names the field; for an amount that is too small to deliver anything it has `minSendAmount`.',
    advice: 'Ask the receiver for a new incoming payment, or create a new quote.'
  },
  'different-request': {
    descriptions: ['the Idempotency-Key was used with another request'],
    meaning: 'The idempotency key belongs to another request of the client.',
    advice: 'Use a new key for each payment that is meant to be made.'
  },
  unavailable: {
    descriptions: ['temporarily unavailable'],
    meaning: 'Something that is needed cannot be asked now. Nothing was paid.',
    advice: 'Repeat the request, with the same idempotency key, after the seconds in `Retry-After`.'
  },
  'rates-unavailable': {
    descriptions: ['exchange rates are temporarily unavailable'],
    meaning: 'Exchange rates cannot be had now.',
    advice: 'Repeat the request after the seconds in `Retry-After`.'
  }
}
