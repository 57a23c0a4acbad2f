import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import { parseThresholds, reachesThreshold, type Thresholds } from '@open-payments-server/value-types/amounts'
import type { ActAmount } from './act.js'

/** The settings that say what needs a second person. */
export interface SecondPersonConfig {
  readonly OPERATOR_ISSUERS?: string | undefined
  readonly OPERATOR_SECOND_PERSON_FOR?: string | undefined
  /** Only where operators move money. */
  readonly OPERATOR_SECOND_PERSON_FROM?: string | undefined
}

/** What needs a second person. */
export interface SecondPersonRule {
  /** Names of methods that always do. */
  readonly methods: ReadonlySet<string>
  /** Whether an amount does. */
  readonly isAtOrAbove: (amount: ActAmount) => boolean
  /** Whether amounts count at all. */
  readonly countsAmounts: boolean
}

/**
 * Reads what needs a second person.
 *
 * @param possible names of the methods that can wait for one
 * @throws ConfigurationError naming what is wrong in a setting
 */
export function readSecondPersonRule(
  config: SecondPersonConfig,
  possible: readonly string[]
): SecondPersonRule {
  const { OPERATOR_SECOND_PERSON_FOR: names, OPERATOR_SECOND_PERSON_FROM: from } = config
  const methods = new Set(entriesOf(names))
  const problems = [...methods]
    .filter((name) => !possible.includes(name))
    .map(
      (name) =>
        `OPERATOR_SECOND_PERSON_FOR: ${name} cannot wait for a second person here. What can: ${possible.join(', ')}`
    )
  if ((names !== undefined || from !== undefined) && config.OPERATOR_ISSUERS === undefined)
    problems.push(
      'OPERATOR_SECOND_PERSON_FOR and OPERATOR_SECOND_PERSON_FROM need OPERATOR_ISSUERS: all machines count as one person'
    )
  if (problems.length > 0) throw new ConfigurationError(problems)
  const thresholds = readThresholds(from)
  return {
    methods,
    countsAmounts: thresholds !== undefined,
    isAtOrAbove: (amount) =>
      thresholds !== undefined && (amount === 'any' || reachesThreshold(amount, thresholds))
  }
}

function readThresholds(text: string | undefined): Thresholds | undefined {
  if (text === undefined) return undefined
  try {
    return parseThresholds(text, 'OPERATOR_SECOND_PERSON_FROM')
  } catch (error) {
    throw new ConfigurationError([(error as Error).message])
  }
}

function entriesOf(list: string | undefined): readonly string[] {
  return (list ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}
