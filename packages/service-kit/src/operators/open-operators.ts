import type { Clock } from '@open-payments-server/value-types/clock'
import type { IssuerKeys } from '../issuers/index.js'
import type { Operators } from './admission.js'
import { createOperatorTokenVerifier } from './operator-tokens.js'
import { refusePairwiseIssuers } from './pairwise.js'
import { createRolesOfMachine, type OperatorConfig, parseOperatorIssuers } from './settings.js'

/** What is needed to tell who operates. */
interface OperatorOptions {
  readonly config: OperatorConfig
  readonly clock: Clock
}

/**
 * The same as {@link openOperators}, for a service that starts: it refuses issuers by which one person could be several.
 *
 * @throws ConfigurationError naming these
 */
export async function startOperators(options: OperatorOptions, keys: IssuerKeys): Promise<Operators> {
  await refusePairwiseIssuers(options.config, keys)
  return openOperators(options, keys)
}

/**
 * Reads who operates from the configuration.
 *
 * @param keys those of every issuer
 * @throws Error naming what is wrong in a setting
 */
export function openOperators({ config, clock }: OperatorOptions, keys: IssuerKeys): Operators {
  const issuers = parseOperatorIssuers(config.OPERATOR_ISSUERS)
  return {
    verifyToken: createOperatorTokenVerifier({ issuers, keys, clock }),
    rolesOfMachine: createRolesOfMachine(config)
  }
}
