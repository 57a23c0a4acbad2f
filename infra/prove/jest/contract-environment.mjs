// The environment of every test file: Node's, and the contract that answers are checked against. Jest loads the imports of each
// test file anew, which would take a second for the contract. The environment is loaded once for each process of the test run.
import { fileURLToPath } from 'node:url'
import { TestEnvironment } from 'jest-environment-node'

const described = fileURLToPath(
  new URL('../../../services/auth-server/openapi/identity-provider.yaml', import.meta.url)
)

/** Loaded when the first answer comes. */
let loading
function loadContract() {
  loading ??= import('../../../packages/testing/dist/contract/index.js').then(({ loadContract }) =>
    loadContract([described])
  )
  return loading
}

/** Checks the answers that tests receive against the contract: `packages/testing` calls it for every answer. */
export default class ContractEnvironment extends TestEnvironment {
  #violations = []

  async setup() {
    await super.setup()
    this.global.contractKeeper = {
      /** @returns the errors of an answer; they also fail the test, even if it ignores them */
      violationsOf: async (exchange) => {
        const violations = (await loadContract()).violations(exchange)
        const { method, url, status, text } = exchange
        for (const violation of violations) {
          this.#violations.push(`${violation}\n  ${method} ${url}: ${status} ${text}`)
        }
        return violations
      },
      /** @returns every violation so far; they no longer fail the test. For tests of the check itself */
      takeViolations: () => this.#violations.splice(0)
    }
  }

  /** Fails a test that received a wrong answer, even if it caught the error. */
  handleTestEvent({ name, test }) {
    if (name !== 'test_done') return
    const error = this.#takeError()
    if (error !== undefined && test.errors.length === 0) test.errors.push(error)
  }

  async teardown() {
    await super.teardown()
    const error = this.#takeError()
    if (error !== undefined) throw error
  }

  #takeError() {
    const violations = this.#violations.splice(0)
    if (violations.length === 0) return undefined
    return new Error(`answers that break the contract:\n${violations.join('\n')}`)
  }
}
