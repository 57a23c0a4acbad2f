import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Table from 'cli-table3'
import { withClone } from './clone.js'
import { GUARDS } from './guards/index.js'
import { breakGuard, type Mutation } from './mutation.js'
import { runTests, type TestResult } from './run-tests.js'

/** The result of breaking a guard. */
interface Verdict {
  readonly mutation: Mutation
  /** `failed` is expected. */
  readonly result: TestResult
  readonly seconds: number
}

/**
 * Breaks every guard, one at a time, in a clone of the last commit, and runs its test there, which must fail. First it runs all
 * these tests without a broken guard: they must pass.
 *
 * @param repository folder of the repository
 * @param part only guards whose words or files contain this text; empty for all
 * @param signal ends it after the test that is running
 * @returns whether the test of every guard failed without it
 * @throws Error when no guard contains the text, one cannot be found in the code, or a test fails although nothing is broken
 */
export async function runMutations(repository: string, part: string, signal: AbortSignal): Promise<boolean> {
  const mutations = GUARDS.flatMap((group) => group.mutations).filter(
    ({ guard, file }) => guard.includes(part) || file.includes(part)
  )
  if (mutations.length === 0) throw new Error(`no guard has "${part}" in its words or in its file`)
  return withClone(repository, async (clone) => {
    for (const mutation of mutations) {
      breakGuard(await readFile(join(clone, mutation.file), 'utf8'), mutation)
    }
    await assertAllPass(clone, mutations, signal)
    const verdicts: Verdict[] = []
    for (const mutation of mutations) {
      signal.throwIfAborted()
      const verdict = await judge(clone, mutation)
      console.log(storyOf(verdict))
      verdicts.push(verdict)
    }
    console.log(tableOf(verdicts))
    const survivors = verdicts.filter(({ result }) => result.status !== 'failed')
    console.log(
      survivors.length === 0
        ? `Every one of ${String(verdicts.length)} broken guards was caught.`
        : `${String(survivors.length)} of ${String(verdicts.length)} broken guards were not caught.`
    )
    return survivors.length === 0
  })
}

async function assertAllPass(
  clone: string,
  mutations: readonly Mutation[],
  signal: AbortSignal
): Promise<void> {
  const titles = new Map<string, Set<string>>()
  for (const { test } of mutations) {
    titles.set(test.file, (titles.get(test.file) ?? new Set()).add(test.title))
  }
  console.log('Running their tests with nothing broken …')
  for (const [file, ofFile] of titles) {
    signal.throwIfAborted()
    for (const [title, { status, reason }] of await runTests(clone, file, [...ofFile])) {
      if (status === 'passed') continue
      throw new Error(`"${title}" in ${file} ${status} although nothing is broken:\n${reason}`)
    }
  }
}

async function judge(clone: string, mutation: Mutation): Promise<Verdict> {
  const path = join(clone, mutation.file)
  const whole = await readFile(path, 'utf8')
  const start = performance.now()
  try {
    await writeFile(path, breakGuard(whole, mutation))
    const { file, title } = mutation.test
    const result = (await runTests(clone, file, [title])).get(title)
    if (result === undefined) throw new Error(`nothing is known of "${title}"`)
    return { mutation, result, seconds: Math.round((performance.now() - start) / 1_000) }
  } finally {
    await writeFile(path, whole)
  }
}

/** The broken guard, its test, and how that test failed. */
function storyOf(verdict: Verdict): string {
  const { guard, file, text, broken, test } = verdict.mutation
  const lines = [
    `${wordOf(verdict).padEnd(10)}${guard} (${file})`,
    prefixed('- ', text.trim()),
    ...(broken.trim() === '' ? [] : [prefixed('+ ', broken.trim())]),
    `  ${test.title} (${test.file})`,
    prefixed('| ', firstLines(verdict.result.reason))
  ]
  return `${lines.join('\n')}\n`
}

function tableOf(verdicts: readonly Verdict[]): string {
  const table = new Table({
    head: ['Guard', 'Broken in', 'Test', 'Result', 'Seconds'],
    colWidths: [42, 57, 48, 10, 9],
    wordWrap: true,
    style: { head: [], border: [] }
  })
  for (const verdict of verdicts) {
    const { guard, file, test } = verdict.mutation
    table.push([guard, file.split('/').slice(-2).join('/'), test.title, wordOf(verdict), verdict.seconds])
  }
  return table.toString()
}

function wordOf({ result }: Verdict): string {
  switch (result.status) {
    case 'failed':
      return 'caught'
    case 'passed':
      return 'SURVIVED'
    case 'not run':
      return 'NOT RUN'
  }
}

/** The beginning of jest's output: enough to see whether a test failed because of the guard. */
function firstLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
  return lines.slice(0, 12).join('\n')
}

function prefixed(prefix: string, text: string): string {
  return text.replace(/^/gm, `  ${prefix}`)
}
