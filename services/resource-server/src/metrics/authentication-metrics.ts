import { SIGNATURE_ERROR_REASONS, SignatureError } from '@open-payments-server/http-signatures'
import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { RequestAuthorizer } from '../domain/authorization.js'
import {
  type AuthenticationFailure,
  type AuthenticationFailureCounter,
  TOKEN_RECORD_SOURCES,
  type TokenLookupCounter
} from '../domain/counters.js'
import { Refusal } from '@open-payments-server/runtime'

/** Publishes what `docs/metrics.md` lists of requests that were not let in. */
export function publishAuthenticationFailures(
  metrics: Pick<Metrics, 'addCounters'>
): AuthenticationFailureCounter {
  return metrics.addCounters<AuthenticationFailure>(
    {
      name: 'open_payments_authentication_failures_total',
      help: 'Requests refused because of their signature or token, or of who signed them.'
    },
    'reason',
    [...SIGNATURE_ERROR_REASONS, 'token', 'inactive_token']
  )
}

/** Publishes what `docs/metrics.md` lists of lookups of what tokens are worth. */
export function publishTokenLookups(metrics: Pick<Metrics, 'addCounters'>): TokenLookupCounter {
  return metrics.addCounters(
    {
      name: 'open_payments_token_lookups_total',
      help: 'Lookups of what tokens are worth, by where the answer came from.'
    },
    'source',
    TOKEN_RECORD_SOURCES
  )
}

/** The same authorizer, with whom it refuses counted by the reason. Callers are told no more than before. */
export function countFailures(
  authorizer: RequestAuthorizer,
  count: AuthenticationFailureCounter
): RequestAuthorizer {
  return {
    async authorize(request) {
      try {
        return await authorizer.authorize(request)
      } catch (error) {
        const failure = error instanceof Refusal ? failureOf(error) : undefined
        if (failure !== undefined) count(failure)
        throw error
      }
    }
  }
}

function failureOf({ because, cause }: Refusal): AuthenticationFailure | undefined {
  if (cause instanceof SignatureError) return cause.reason
  if (because === 'invalid-token') return 'token'
  return because === 'inactive-token' ? 'inactive_token' : undefined
}
