import type { IncomingRequest } from '@open-payments-server/http-server'
import { SIGNATURE_ERROR_REASONS, SignatureError } from '@open-payments-server/http-signatures'
import { type SnakeCase, snakeCase } from '@open-payments-server/runtime'
import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { RequestAuthorizer } from '../domain/authorization.js'
import {
  type AuthenticationFailure,
  type AuthenticationFailureCounter,
  TOKEN_RECORD_SOURCES,
  type TokenLookupCounter
} from '../domain/counters.js'
import { RequestRefused } from '../domain/errors.js'

/** Publishes the metrics of failed authentication, see `docs/metrics.md`. */
export function publishAuthenticationFailures(
  metrics: Pick<Metrics, 'addCounters'>
): AuthenticationFailureCounter {
  const count = metrics.addCounters<SnakeCase<AuthenticationFailure>>(
    {
      name: 'open_payments_authentication_failures_total',
      help: 'Requests refused because of their signature or token, or of who signed them.'
    },
    'reason',
    [...SIGNATURE_ERROR_REASONS, 'token', 'inactive_token']
  )
  return (failure) => {
    count(snakeCase(failure))
  }
}

/** Publishes the metrics of token introspections, see `docs/metrics.md`. */
export function publishTokenLookups(metrics: Pick<Metrics, 'addCounters'>): TokenLookupCounter {
  return metrics.addCounters(
    {
      name: 'open_payments_token_lookups_total',
      help: 'Token introspections, by source.'
    },
    'source',
    TOKEN_RECORD_SOURCES
  )
}

/** The same authorizer, counting its refusals by reason. Callers get no more detail than before. */
export function countFailures(
  authorizer: RequestAuthorizer<IncomingRequest>,
  count: AuthenticationFailureCounter
): RequestAuthorizer<IncomingRequest> {
  return {
    async authorize(request) {
      try {
        return await authorizer.authorize(request)
      } catch (error) {
        const failure = error instanceof RequestRefused ? failureOf(error) : undefined
        if (failure !== undefined) count(failure)
        throw error
      }
    }
  }
}

function failureOf({ because, cause }: RequestRefused): AuthenticationFailure | undefined {
  if (cause instanceof SignatureError) return cause.reason
  if (because === 'invalid-token') return 'token'
  return because === 'inactive-token' ? because : undefined
}
