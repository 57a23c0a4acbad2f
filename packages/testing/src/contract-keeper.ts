import type { Exchange } from './contract/index.js'

/** Why an answer is not checked against the contract, such as that another server gave it. */
export interface OutsideContract {
  readonly reason: string
}

/** What infra/jest/contract-environment.mjs gives every test file. */
interface ContractKeeper {
  violationsOf(exchange: Exchange): Promise<string[]>
  takeViolations(): string[]
}

/** An answer was not what the descriptions say. */
export class ContractViolation extends Error {
  constructor(exchange: Exchange, violations: readonly string[]) {
    const { method, url, status, text } = exchange
    super(`${method} ${url}: ${String(status)} ${text}\n${violations.join('\n')}`)
    this.name = 'ContractViolation'
  }
}

/**
 * Holds an answer to the contract. A test file in which this ever failed fails, also where a test takes the error for one of
 * those that it expects.
 *
 * @throws ContractViolation naming everything that is wrong with it
 */
export async function holdToContract(exchange: Exchange): Promise<void> {
  const violations = await keeper().violationsOf(exchange)
  if (violations.length > 0) throw new ContractViolation(exchange, violations)
}

/** Answers every violation so far, for which the test file then does not fail: for tests of the contract itself. */
export function takeContractViolations(): string[] {
  return keeper().takeViolations()
}

function keeper(): ContractKeeper {
  const { answersHeldToContract } = globalThis as { answersHeldToContract?: ContractKeeper }
  if (answersHeldToContract === undefined) {
    throw new Error('no contract: run the tests with the jest configuration of this project')
  }
  return answersHeldToContract
}
