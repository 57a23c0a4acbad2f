import { openOperators } from '@open-payments-server/service-kit/operators'
import type { Clock } from '@open-payments-server/value-types/clock'

/** Operators of a server in development without any setting: every machine may do everything, and no token counts. */
export function openEveryOperator(clock: Clock) {
  const fail = () => Promise.reject(new Error('no issuer is configured, so that no key may be looked for'))
  const keys = { of: () => fail, subjectTypesOf: fail }
  return openOperators({ config: { ENVIRONMENT: 'development' }, clock }, keys)
}
