/** Names each skipped test, and ends the run with one line that people and scripts can read. */
export default class SummaryReporter {
  onRunComplete(_contexts, results) {
    for (const file of results.testResults) {
      for (const test of file.testResults) {
        if (['pending', 'skipped', 'todo', 'disabled'].includes(test.status))
          console.log(`skipped: ${test.fullName}`)
      }
    }
    // A file that could not run has no failed tests, but counts as a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites
    const skipped = results.numPendingTests + results.numTodoTests
    const summary = `tests: ${results.numPassedTests} passed, ${failed} failed`
    // Printed when the process ends, after everything that jest prints.
    process.once('exit', () => console.log(skipped > 0 ? `${summary}, ${skipped} skipped` : summary))
  }
}
