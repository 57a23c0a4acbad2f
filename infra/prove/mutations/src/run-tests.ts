import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The result of a test. */
export interface TestResult {
  readonly status: 'passed' | 'failed' | 'not run'
  /** Why it failed or did not run: jest's output, without colours. */
  readonly reason: string
}

/** Maximum duration of jest for one file, because broken code may wait for ever. */
const JEST_TIMEOUT_MS = 300_000

interface JestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly title: string
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/**
 * Runs some tests of one file, and no others, in a clone of the repository.
 *
 * @param clone folder of the clone, prepared
 * @param file path of the tests, from the root of the repository
 * @param titles as jest prints them
 * @returns the result of each, by title
 */
export async function runTests(
  clone: string,
  file: string,
  titles: readonly string[]
): Promise<ReadonlyMap<string, TestResult>> {
  const folder = await mkdtemp(join(tmpdir(), 'mutation-report-'))
  try {
    const reportPath = join(folder, 'report.json')
    const output = await runJest(clone, [
      '--runTestsByPath',
      file,
      '--testNamePattern',
      `(${titles.map(literally).join('|')})$`,
      '--json',
      '--outputFile',
      reportPath,
      // Broken code may leave something running.
      '--forceExit'
    ])
    const content = await readFile(reportPath, 'utf8').catch(() => undefined)
    const report = content === undefined ? undefined : (JSON.parse(content) as JestReport)
    return new Map(titles.map((title) => [title, resultOf(report, title, output)]))
  } finally {
    await rm(folder, { recursive: true })
  }
}

/**
 * The result of a test. One that runs several times, such as for each implementation of a port, has failed if it failed once.
 *
 * @param output jest's output, for a test that did not start
 */
function resultOf(report: JestReport | undefined, title: string, output: string): TestResult {
  const results = (report?.testResults ?? [])
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ title: found, status }) => found === title && ['passed', 'failed'].includes(status))
  if (results.length === 0) return { status: 'not run', reason: plain(output) }
  const failed = results.find(({ status }) => status === 'failed')
  return failed === undefined
    ? { status: 'passed', reason: '' }
    : { status: 'failed', reason: plain(failed.failureMessages.join('\n')) }
}

/** @returns what it printed */
function runJest(clone: string, parameters: readonly string[]): Promise<string> {
  const program = join(clone, 'node_modules', 'jest', 'bin', 'jest.js')
  const nodeOptions = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
  return new Promise((resolve, reject) => {
    const jest = spawn(process.execPath, [...nodeOptions, program, ...parameters], {
      cwd: clone,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: JEST_TIMEOUT_MS
    })
    const chunks: Buffer[] = []
    for (const stream of [jest.stdout, jest.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    jest.once('error', reject)
    jest.once('close', () => {
      resolve(Buffer.concat(chunks).toString())
    })
  })
}

/** A regular expression that matches exactly a text. */
function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A text without colour codes. */
function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- because colours begin with a control character
  return text.replace(/\u001b\[[0-9;]*m/g, '')
}
