// The environment of every test file: that of Node, and the contract that answers are held to. It is here because jest loads
// everything that a test imports anew for every file, which for the contract would take a second each time; this is loaded once
// for every process of the test run.
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

/** Holds what tests receive to the contract: `packages/testing` asks it about every answer. */
export default class ContractEnvironment extends TestEnvironment {
  #violations = []

  async setup() {
    await super.setup()
    this.global.answersHeldToContract = {
      /** @returns what is wrong with an answer; it fails the test, too, if the test takes no notice */
      violationsOf: async (exchange) => {
        const violations = (await loadContract()).violations(exchange)
        const { method, url, status, text } = exchange
        for (const violation of violations) {
          this.#violations.push(`${violation}\n  ${method} ${url}: ${status} ${text}`)
        }
        return violations
      },
      /** @returns every violation so far, which then no longer fails the test: for tests of this very thing */
      takeViolations: () => this.#violations.splice(0)
    }
  }

  /** Fails the test that received what it should not, even if it caught the error. */
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
