import type { RequestParts } from '@open-payments-server/http-server'
import type { ReceivedSignature } from '@open-payments-server/http-signatures'
import type { Answer, RateLimits } from '@open-payments-server/service-kit/rate-limits'
import type { ClientAuthenticator, CountVerified } from '../../domain/authentication.js'

/** A signature, and what of its request is counted besides. */
interface AnsweredSignature extends ReceivedSignature {
  /** Tells how much the client has left. */
  readonly answer?: Answer | undefined
  /** Where a request comes from that may leave a row; undefined for one that leaves none. */
  readonly rowsFrom?: string | undefined
}

/** The same authenticator, whose signatures know the answer to their request. */
export function attachAnswers(authenticator: ClientAuthenticator): ClientAuthenticator {
  return {
    ...authenticator,
    receive(request: RequestParts): AnsweredSignature {
      return {
        ...authenticator.receive(request),
        answer: request.answer,
        rowsFrom: leavesRow(request) ? request.network : undefined
      }
    }
  }
}

/**
 * Counts whose signature was verified, and refuses a client that asks too often: a grant request by the key that signed it,
 * everything after that by the client that holds the grant. Who has only forged a signature uses up nobody's requests.
 */
export function countClients(limits: Pick<RateLimits, 'count'>): CountVerified {
  return ({ answer, rowsFrom }: AnsweredSignature, client) => {
    const rows = rowsFrom === undefined ? {} : { 'address-rows': rowsFrom, 'client-rows': client }
    limits.count(answer, { client, ...rows })
  }
}

/** Whether a request may leave a row: a grant does, and a rotation. A continuation adds one token to a grant at most. */
function leavesRow({ method, targetUri }: RequestParts): boolean {
  return method === 'POST' && !CONTINUATION.test(targetUri)
}

const CONTINUATION = /\/continue\/[^/?]+$/
