import type { RequestParts } from '@open-payments-server/http-server'
import type { ReceivedSignature } from '@open-payments-server/http-signatures'
import { type Answer, type RateLimits, rowKeys } from '@open-payments-server/service-kit/rate-limits'
import type { ClientAuthenticator, CountVerified } from '../authentication.js'

/** A signature, and what else is counted for its request. */
interface AnsweredSignature extends ReceivedSignature, Pick<RequestParts, 'network' | 'storesRows'> {
  /** Adds the client's remaining limit to the answer. */
  readonly answer?: Answer | undefined
}

/** The same authenticator, with the answer attached to each signature. */
export function attachAnswers(authenticator: ClientAuthenticator): ClientAuthenticator {
  return {
    ...authenticator,
    receive(request: RequestParts): AnsweredSignature {
      return {
        ...authenticator.receive(request),
        answer: request.answer,
        network: request.network,
        storesRows: request.storesRows
      }
    }
  }
}

/**
 * Counts requests whose signature was verified, and refuses those over a limit: a grant request by the key that signed it,
 * everything after that by the token holder. A forged signature uses up nobody's limit.
 */
export function countClients(limits: Pick<RateLimits, 'count'>): CountVerified {
  return ({ answer, network, storesRows = false }: AnsweredSignature, client) => {
    const rows = storesRows ? rowKeys(network, client) : {}
    limits.count(answer, { client, ...rows })
  }
}
