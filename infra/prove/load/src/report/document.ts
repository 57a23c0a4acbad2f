import { readFile, writeFile } from 'node:fs/promises'
import { totalOf } from '../process-usage.js'
import type { Measurement, Results } from '../results.js'
import { describeStack, percent, referenceOf, titleOf } from './table.js'

const BEGIN = '<!-- measured: begin -->'
const END = '<!-- measured: end -->'

/**
 * Inserts the results into a document, between its marks.
 *
 * @throws Error when it has no marks
 */
export async function writeIntoDocument(file: string, results: Results): Promise<void> {
  const text = await readFile(file, 'utf8')
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`${file} does not say where measurements go`)
  await writeFile(
    file,
    `${text.slice(0, begin + BEGIN.length)}\n\n${describeResults(results)}\n\n${text.slice(end)}`
  )
}

/** The measurements as Markdown. */
function describeResults({ at, machine, loadBefore, commit, stacks }: Results): string {
  const head = `${at.slice(0, 10)}, ${machine}, commit \`${commit}\`; load of the machine in the minute before: ${loadBefore.toFixed(1)}. CPU in milliseconds for one request.`
  const parts = stacks.flatMap((stack) => [
    drawTable(stack.measurements),
    describeStack(stack)
      .split('\n')
      .map((line) => `- ${line.trim()}`)
      .join('\n')
  ])
  return [head, ...parts].join('\n\n')
}

const HEAD = [
  ...['Call', 'At a time', 'Per second', 'Of its floor', 'Reference', 'p50 ms', 'p99 ms'],
  ...['CPU auth', 'CPU resource', 'CPU PostgreSQL', 'CPU all', 'CPU floor', 'SQL']
]

function drawTable(measurements: readonly Measurement[]): string {
  const rows = measurements.map((measurement) => {
    const { call, concurrency, perSecond, cpuMs, floorCpuMs, shareOfFloor, statements } = measurement
    const reference = referenceOf(measurement)
    return [
      titleOf(call),
      String(concurrency),
      Math.round(perSecond).toLocaleString('en'),
      percent(shareOfFloor),
      reference === undefined ? '' : `${(perSecond / reference).toFixed(1)} ×`,
      measurement.p50Ms.toFixed(1),
      measurement.p99Ms.toFixed(1),
      ...['auth', 'resource', 'postgres'].map((name) => (cpuMs[name] ?? 0).toFixed(2)),
      totalOf(cpuMs).toFixed(2),
      totalOf(floorCpuMs).toFixed(2),
      statements.toFixed(1)
    ]
  })
  const widths = HEAD.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length))
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(HEAD), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
