import type { Exchange } from './contract/index.js'

/** Why an answer is not checked against the contract, for example because another server gave it. */
export interface OutsideContract {
  readonly reason: string
}

/** Provided to every test file by infra/prove/jest/contract-environment.mjs. */
interface ContractKeeper {
  violationsOf(exchange: Exchange): Promise<string[]>
  takeViolations(): string[]
}

/** An answer did not match the descriptions. */
export class ContractViolation extends Error {
  constructor(exchange: Exchange, violations: readonly string[]) {
    const { method, url, status, text } = exchange
    super(`${method} ${url}: ${String(status)} ${text}\n${violations.join('\n')}`)
    this.name = 'ContractViolation'
  }
}

/**
 * Checks an answer against the contract. A test file in which this ever failed fails, even if a test takes the error for
 * one that it expects.
 *
 * @throws ContractViolation naming everything that is wrong with it
 */
export async function holdToContract(exchange: Exchange): Promise<void> {
  const violations = await keeper().violationsOf(exchange)
  if (violations.length > 0) throw new ContractViolation(exchange, violations)
}

/** Returns every violation so far, for which the test file then does not fail: for tests of the contract itself. */
export function takeContractViolations(): string[] {
  return keeper().takeViolations()
}

function keeper(): ContractKeeper {
  const { contractKeeper } = globalThis as { contractKeeper?: ContractKeeper }
  if (contractKeeper === undefined) {
    throw new Error('no contract: run the tests with the jest configuration of this project')
  }
  return contractKeeper
}
