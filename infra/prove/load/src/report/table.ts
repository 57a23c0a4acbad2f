import Table from 'cli-table3'
import { CALLS, REFERENCE_COMPLETED_PER_SECOND } from '../calls.js'
import type { Goal } from '../goals.js'
import { totalOf } from '../process-usage.js'
import type { Measurement, StackResults } from '../results.js'

/** How tables look on a terminal: without colours, and without a line between rows. */
export const STYLE = { head: [], border: [], compact: true }
const KIBIBYTE = 1_024

/** Title of a call in tables and plots. */
export function titleOf(call: string): string {
  return CALLS.find(({ name }) => name === call)?.title ?? call
}

/** Rate of the reference implementation at a concurrency of 8; undefined for other concurrencies. */
export function referenceOf({ call, concurrency }: Measurement): number | undefined {
  return concurrency === 8 ? CALLS.find(({ name }) => name === call)?.referencePerSecond : undefined
}

/** One row for each call and concurrency. CPU is in milliseconds for one request. */
export function drawMeasurements({ measurements }: StackResults): string {
  const processes = ['auth', 'resource', 'postgres', 'redis', 'generator']
  const table = new Table({
    head: [
      ...['Call', 'at a time', 'per s', 'floor', 'share', 'CPU share', 'reference', 'p50 ms', 'p99 ms'],
      ...processes.map((name) => `CPU ${name}`),
      ...['CPU all', 'CPU floor'],
      ...['SQL', 'KiB']
    ],
    colAligns: ['left', ...Array.from({ length: 17 }, () => 'right' as const)],
    style: STYLE
  })
  for (const measurement of measurements) {
    const reference = referenceOf(measurement)
    table.push([
      titleOf(measurement.call),
      measurement.concurrency,
      Math.round(measurement.perSecond),
      Math.round(measurement.floorPerSecond),
      percent(measurement.shareOfFloor),
      percent(measurement.cpuShareOfFloor),
      reference === undefined ? '' : `${(measurement.perSecond / reference).toFixed(1)} ×`,
      measurement.p50Ms.toFixed(1),
      measurement.p99Ms.toFixed(1),
      ...processes.map((name) => (measurement.cpuMs[name] ?? 0).toFixed(2)),
      totalOf(measurement.cpuMs).toFixed(2),
      totalOf(measurement.floorCpuMs).toFixed(2),
      measurement.statements.toFixed(1),
      measurement.bytes === 0 ? '' : (measurement.bytes / KIBIBYTE).toFixed(1)
    ])
  }
  return table.toString()
}

/** Other measurements, one line each. */
export function describeStack(results: StackResults): string {
  const { completed, startMs, memoryBytes, violations } = results
  const lines = [
    `Rows ${results.rows.toLocaleString('en')}; replicas ${String(results.replicas)}; Redis ${results.hasRedis ? 'yes' : 'no'}; rate limits ${results.rateLimits ? 'counted' : 'off'}.`,
    ...Object.entries(startMs).map(([service, ms]) => `Start to ready: ${service} ${ms.toFixed(0)} ms.`),
    `Idle: ${results.idleStatementsPerSecond.toFixed(1)} SQL statements a second.`,
    ...Object.entries(memoryBytes).map(
      ([service, bytes]) => `Memory at the end: ${service} ${(bytes / KIBIBYTE ** 2).toFixed(0)} MiB.`
    )
  ]
  if (completed !== undefined) {
    const { count, perSecond, createdPerSecond, settledPerSecond } = completed
    const factor = (perSecond / REFERENCE_COMPLETED_PER_SECOND).toFixed(1)
    lines.push(
      `Completed: ${String(count)} payments, created ${createdPerSecond.toFixed(0)} a second, received ${perSecond.toFixed(0)} a second (${factor} × the reference), settled ${settledPerSecond.toFixed(0)} a second.`
    )
  }
  lines.push(
    violations.length === 0
      ? 'Audit: nothing found.'
      : `Audit: ${String(violations.length)} found:\n${violations.slice(0, 5).join('\n')}`
  )
  return lines.map((line) => `  ${line}`).join('\n')
}

/** Goals, and whether they are met. */
export function drawGoals(goals: readonly Goal[]): string {
  const table = new Table({ head: ['Goal', 'Bound', 'Measured', ''], style: STYLE })
  for (const { title, bound, measured, isMet } of goals)
    table.push([title, bound, measured, isMet ? 'met' : 'MISSED'])
  return table.toString()
}

/** A share in percent. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
