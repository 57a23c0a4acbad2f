import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const MESSAGE_LINES = 6

/**
 * Names each skipped test, and ends the run with what is needed of a log of thousands of lines: each failed test with the beginning of why,
 * and one line that people and scripts can read.
 */
export default class SummaryReporter {
  #root

  constructor({ rootDir }) {
    this.#root = rootDir
  }

  onRunComplete(_contexts, results) {
    const failures = []
    for (const file of results.testResults) {
      const path = relative(this.#root, file.testFilePath)
      for (const test of file.testResults) {
        if (['pending', 'skipped', 'todo', 'disabled'].includes(test.status))
          console.log(`skipped: ${test.fullName}`)
        if (test.status === 'failed')
          failures.push([`failed: ${path}: ${test.fullName}`, ...beginning(test.failureMessages.join('\n'))])
      }
      if (file.testExecError !== undefined)
        failures.push([`failed: ${path} could not run`, ...beginning(file.failureMessage ?? '')])
    }
    // A file that could not run has no failed tests, but counts as a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites
    const skipped = results.numPendingTests + results.numTodoTests
    const summary = `tests: ${results.numPassedTests} passed, ${failed} failed`
    // Printed when the process ends, after everything that jest prints.
    process.once('exit', () => {
      for (const failure of failures) console.log(failure.join('\nfailed:   '))
      console.log(skipped > 0 ? `${summary}, ${skipped} skipped` : summary)
    })
  }
}

/** @returns the first lines that say something of what a test failed with */
function beginning(message) {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '')
  return lines.slice(0, MESSAGE_LINES)
}
