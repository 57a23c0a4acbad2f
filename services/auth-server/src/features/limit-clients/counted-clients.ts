import type { RequestParts } from '@open-payments-server/http-server'
import type { ReceivedSignature } from '@open-payments-server/http-signatures'
import type { Answer, RateLimits } from '@open-payments-server/rate-limits'
import type { ClientAuthenticator, CountVerified } from '../../domain/authentication.js'

/** A signature, and the answer that tells how much its client has left. */
interface AnsweredSignature extends ReceivedSignature {
  readonly answer?: Answer | undefined
}

/** The same authenticator, whose signatures know the answer to their request. */
export function attachAnswers(authenticator: ClientAuthenticator): ClientAuthenticator {
  return {
    ...authenticator,
    receive(request: RequestParts): AnsweredSignature {
      return { ...authenticator.receive(request), answer: request.answer }
    }
  }
}

/**
 * Counts whose signature was verified, and refuses a client that asks too often: a grant request by the key that signed it,
 * everything after that by the client that holds the grant. Who has only forged a signature uses up nobody's requests.
 */
export function countClients(limits: Pick<RateLimits, 'count'>): CountVerified {
  return (signature: AnsweredSignature, client) => {
    limits.count(signature.answer, { client })
  }
}
