import { SIGNATURE_ERROR_REASONS, SignatureError } from '@open-payments-server/http-signatures'
import type { Metrics } from '@open-payments-server/service-kit/metrics'
import type { ClientAuthenticator } from '../features/authentication.js'
import { DocumentUnavailable } from '../domain/clients.js'
import type { AuthenticationFailure, AuthenticationFailureCounter } from '../domain/counters.js'
import { RequestRefused } from '../domain/errors.js'

/** Publishes the metrics of failed authentication, see `docs/metrics.md`. */
export function publishAuthenticationFailures(
  metrics: Pick<Metrics, 'addCounters'>
): AuthenticationFailureCounter {
  return metrics.addCounters<AuthenticationFailure>(
    {
      name: 'open_payments_authentication_failures_total',
      help: 'Requests refused because of their signature or token, or of who signed them.'
    },
    'reason',
    [...SIGNATURE_ERROR_REASONS, 'client', 'holder']
  )
}

/** The same authenticator, counting its refusals by reason. Callers get no more detail than before. */
export function countFailures(
  authenticator: ClientAuthenticator,
  count: AuthenticationFailureCounter
): ClientAuthenticator {
  return {
    ...authenticator,
    receive(request) {
      try {
        return authenticator.receive(request)
      } catch (error) {
        throw counted(error, count)
      }
    },
    async verify(signature, key) {
      try {
        await authenticator.verify(signature, key)
      } catch (error) {
        throw counted(error, count)
      }
    },
    async verifyHolder(signature, holder) {
      try {
        const isHolder = await authenticator.verifyHolder(signature, holder)
        if (!isHolder) count('holder')
        return isHolder
      } catch (error) {
        throw counted(error, count)
      }
    }
  }
}

function counted(error: unknown, count: AuthenticationFailureCounter): unknown {
  const cause = error instanceof RequestRefused ? error.cause : undefined
  if (cause instanceof SignatureError) count(cause.reason)
  if (cause instanceof DocumentUnavailable) count('client')
  return error
}
