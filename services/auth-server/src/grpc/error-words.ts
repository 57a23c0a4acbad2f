import type { ErrorWords } from '@open-payments-server/value-types/refusals'
import type { CallRefusedBecause } from '../domain/call-refused.js'
import type { RefusalReason } from '../domain/limits.js'

/** Every reason for which a call, or one of the requests of a call, is refused. */
export const CALL_WORDS: Readonly<Record<CallRefusedBecause, ErrorWords>> = {
  invalid: {
    meaning: 'A field is missing or malformed, or more than was reserved.',
    advice: 'Correct the field that the error names.'
  },
  'not-found': { meaning: 'What the call names does not exist.', advice: 'Check the id.' },
  'different-request': {
    meaning: 'The payment id was used by another request.',
    advice: 'Use an id that is derived from the request.'
  },
  'other-amounts': {
    meaning: 'The payment id was used by the same request, which has reserved other amounts.',
    advice: 'Wait until that reservation ended.'
  },
  'ended-otherwise': {
    meaning: 'The reservation ended otherwise: settled with other amounts, or released.',
    advice: 'Run `npm run cli -- audit`.'
  },
  'not-restorable': {
    meaning:
      'A reservation cannot be recorded anew: the grant does not allow the payment, or has no room for it; it was charged after the database changed its timeline; or its id was released.',
    advice: 'See [recovery](runbooks/Recovery.md).'
  },
  'inactive-token': {
    meaning: 'The token is expired, rotated or revoked, or its grant has ended.',
    advice: 'Ask the client for an active one.'
  },
  'grant-ended': {
    meaning: 'The grant has ended, and nothing of it can change any more.',
    advice: 'Read the grant.'
  },
  'consent-of-another': {
    meaning: 'Somebody else consented to the grant when they held the wallet: it cannot be resumed.',
    advice: 'Let the client ask the present account holder.'
  },
  'another-freeze': {
    meaning: 'Another freeze of the client stands than the one that was to end.',
    advice: 'Look at it anew.'
  },
  'issuer-unavailable': {
    meaning: 'The issuer of the ID token that proves a call cannot be asked for its keys. Nothing is done.',
    advice: 'Repeat the call in a few seconds.'
  },
  untold: {
    meaning:
      'A revocation or a change of a grant is recorded, but not every service could be told; or a watcher may have missed one.',
    advice: 'Repeat the call.'
  }
}

/** Every reason for which `Reserve` refuses a payment. */
export const RESERVE_WORDS: Readonly<Record<RefusalReason, ErrorWords>> = {
  'inactive-token': {
    meaning: 'The token is not active, or was not issued here. Nothing is recorded.',
    advice: 'Repeat the request with an active token of the grant.'
  },
  'client-frozen': {
    meaning: 'An operator froze the client. Nothing is recorded.',
    advice: 'Repeat the request once the client is unfrozen.'
  },
  'grant-paused': {
    meaning: 'The account holder paused the grant. Nothing is recorded.',
    advice: 'Repeat the request once they resumed it.'
  },
  'insufficient-grant': {
    meaning: 'No access item is for creating outgoing payments from the wallet address.',
    advice: 'The client needs another grant.'
  },
  'limit-exceeded': {
    meaning: 'Over the amounts, or to another receiver or in another asset than every access item allows.',
    advice: '`refused_by` says which limits refuse it, and `remaining` what fits.'
  },
  'outside-interval': {
    meaning: 'Every access item that would allow it is outside its interval.',
    advice: '`remaining` says when the next interval begins.'
  },
  released: {
    meaning: 'The caller gave this payment id up before.',
    advice: 'Use another id.'
  }
}
