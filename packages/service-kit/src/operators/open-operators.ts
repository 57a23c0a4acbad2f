import type { Clock } from '@open-payments-server/value-types/clock'
import type { IssuerKeys } from '../issuers/index.js'
import type { Operators } from './admission.js'
import { createOperatorTokenVerifier } from './operator-tokens.js'
import { createRolesOfMachine, type OperatorConfig, parseOperatorIssuers } from './settings.js'

/**
 * Reads who operates from the configuration.
 *
 * @param keys those of every issuer
 * @throws Error naming what is wrong in a setting
 */
export function openOperators(
  { config, clock }: { readonly config: OperatorConfig; readonly clock: Clock },
  keys: IssuerKeys
): Operators {
  const issuers = parseOperatorIssuers(config.OPERATOR_ISSUERS)
  return {
    verifyToken: createOperatorTokenVerifier({ issuers, keys, clock }),
    rolesOfMachine: createRolesOfMachine(config)
  }
}
