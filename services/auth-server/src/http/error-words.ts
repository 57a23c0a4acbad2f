import { COMMON_WORDS, type ErrorWords } from '@open-payments-server/value-types/refusals'
import type { RefusedBecause } from '../domain/errors.js'

const START_AGAIN = 'Start again from the site that asked for consent.'

/** Every reason for which a request is refused, for whoever gets the answer. */
export const ERROR_WORDS: Readonly<Record<RefusedBecause, ErrorWords>> = {
  ...COMMON_WORDS,
  'invalid-signature': {
    meaning: 'The signature is missing, malformed, stale, used before, or does not verify.',
    advice: 'Sign the request anew with the key that the client publishes, and check the clock.'
  },
  'client-frozen': {
    meaning: 'An operator froze the client: it may only read. `details.reason` is `client_frozen`.',
    advice: 'Do not repeat the request. Ask the provider until when.'
  },
  'unresolved-client': {
    meaning:
      'The client or its key cannot be resolved, or the request does not allow the way in which the client identified itself.',
    advice:
      'Name the wallet address as its `id` does. Publish the key at its `jwks.json`, with the `kid` that signatures name.'
  },
  'unknown-token': {
    meaning:
      "Unknown token management id, wrong token, or another client's key: the answer does not say which.",
    advice: 'Use `manage` and `value` of one token, and the key that the grant was requested with.'
  },
  'unknown-continuation': {
    meaning:
      "Unknown continuation id, wrong continuation token, or another client's key: the answer does not say which.",
    advice: 'Use `uri` and `access_token` of one `continue`, and the key that the grant was requested with.'
  },
  'wrong-reference': {
    meaning: 'The `interact_ref` is not that of this grant.',
    advice: 'Use the `interact_ref` of the redirect that ended the interaction of this grant.'
  },
  'too-fast': {
    meaning: 'Called before `wait` had passed (RFC 9635 §5).',
    advice: 'Wait for the seconds in `wait` after each answer.'
  },
  'not-continuable': {
    meaning:
      'The grant is in no state to be continued: nobody decided yet, it is issued already, or it has ended.',
    advice: 'Continue once, after the interaction ended. If the grant has ended, request a new one.'
  },
  'user-denied': {
    meaning: 'The account holder declined. The description is the reason, if one was given.',
    advice: 'Respect it.'
  },
  'not-rotatable': {
    meaning: 'The token is revoked already, or another rotation of it won.',
    advice: 'Use the token of the rotation that won, or request a new grant.'
  },
  'unknown-interaction': {
    meaning: 'There is no such interaction, or its grant was revoked.',
    advice: START_AGAIN
  },
  'interaction-decided': {
    meaning: 'The account holder can no longer decide: it was decided, or is over.',
    advice: START_AGAIN
  },
  'interaction-not-active': {
    meaning: 'There is nothing to finish, and no client to notify.',
    advice: START_AGAIN
  },
  'interaction-not-startable': {
    meaning:
      'The interaction is over, or began in another browser. The browser in which it ended is told how in `details.interaction`: `accepted`, `declined` or `expired`.',
    advice: START_AGAIN
  },
  'invalid-session': {
    meaning: 'The browser does not belong to the interaction.',
    advice: 'Finish in the browser that began the interaction.'
  },
  'unknown-choice': {
    meaning: 'There is no such choice.',
    advice: 'An interaction is decided with `accept` or `reject`.'
  },
  'unknown-reader': {
    meaning: 'Whoever asks about an interaction does not know the secret of the identity provider.',
    advice: 'Send it in `x-idp-secret`.'
  },
  'unknown-decider': {
    meaning: 'Whoever decides an interaction does not know the secret of the identity provider.',
    advice: 'Send it in `x-idp-secret`.'
  },
  'issuer-unavailable': {
    meaning:
      'The issuer of the ID token cannot be asked for its keys, so nothing is accepted. `details.idToken` says so.',
    advice: 'Repeat the request after the seconds in `Retry-After`, as long as the ID token is fresh.'
  },
  'host-unavailable': {
    meaning:
      'The host of a document that is needed, such as the keys of the client, cannot answer now. The description says which.',
    advice: 'Repeat the request, with a new signature, after the seconds in `Retry-After`.'
  },
  'directory-busy': {
    meaning: 'Too many published documents are being fetched, or one was fetched too often.',
    advice: 'Repeat the request after the seconds in `Retry-After`.'
  }
}
