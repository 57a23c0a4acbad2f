import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CALLS } from './calls.js'
import { evaluateGoals } from './goals.js'
import { layGroundwork } from './groundwork.js'
import { measureCompleted, type MeasureOptions, Measuring } from './measure.js'
import type { BenchOptions } from './options.js'
import { readMemory } from './process-usage.js'
import { profiling } from './profile/profile-calls.js'
import { writeIntoDocument } from './report/document.js'
import { drawPlot } from './report/plot.js'
import { describeStack, drawGoals, drawMeasurements } from './report/table.js'
import type { Measurement, Results, StackResults, SteadyMeasurement } from './results.js'
import { type Stack, startStack } from './stack.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
/** Folder of the results; not committed. */
const RESULTS = join(root, '.local', 'bench')
const IDLE_SECONDS = 10
const STEADY_PART = 0.5
/** The concurrency that is plotted. */
const PLOTTED = 8
const GIBIBYTE = 1_024 ** 3

/**
 * Runs the bench, and prints and stores the results.
 *
 * @returns false when the audit of a stack found violations
 */
export async function runBench(options: BenchOptions): Promise<boolean> {
  const at = new Date().toISOString()
  const loadBefore = loadavg()[0] ?? 0
  await mkdir(RESULTS, { recursive: true })
  const stacks: StackResults[] = []
  for (const rows of options.rows) stacks.push(await runStack(options, rows))
  const results: Results = { at, machine: describeMachine(), loadBefore, commit: commitOf(), stacks }
  const file = join(RESULTS, `${at.replaceAll(':', '-')}.json`)
  await writeFile(file, `${JSON.stringify(results, undefined, 2)}\n`)
  console.log(`\n  ${results.machine}, commit ${results.commit}, load before ${loadBefore.toFixed(1)}`)
  for (const stack of stacks) console.log(`\n${drawMeasurements(stack)}\n${describeStack(stack)}`)
  console.log(`\n${drawGoals(evaluateGoals(stacks))}\n\n  ${file}`)
  if (options.plot !== undefined) await writeFile(options.plot, plotOf(results))
  if (options.document !== undefined) await writeIntoDocument(options.document, results)
  return stacks.every(({ violations }) => violations.length === 0)
}

function plotOf({ stacks, machine }: Results): string {
  const measurements = (stacks[0]?.measurements ?? []).filter(({ concurrency }) => concurrency === PLOTTED)
  return drawPlot(measurements, `${String(PLOTTED)} at a time; ${machine}, everything included`)
}

async function runStack(options: BenchOptions, rows: number): Promise<StackResults> {
  const { replicas, rateLimits, profile } = options
  say(`Starting everything, with ${rows.toLocaleString('en')} payments …`)
  const stack = await startStack({ rows, replicas, rateLimits, inspected: profile })
  try {
    const idleStatementsPerSecond = await measureIdle(stack)
    const measured = await measureCalls(stack, options)
    const memoryBytes: Record<string, number> = {}
    for (const { id, options: service } of stack.services) memoryBytes[service.name] = await readMemory(id)
    return {
      rows,
      replicas,
      rateLimits,
      hasRedis: stack.hasRedis,
      startMs: stack.startMs,
      idleStatementsPerSecond,
      ...measured,
      memoryBytes,
      violations: await stack.system.audit()
    }
  } finally {
    await stack.stop()
  }
}

async function measureIdle(stack: Stack): Promise<number> {
  const before = await stack.statementCount()
  await delay(IDLE_SECONDS * 1_000)
  return ((await stack.statementCount()) - before) / IDLE_SECONDS
}

async function measureCalls(
  stack: Stack,
  { calls, concurrency, seconds, profile }: BenchOptions
): Promise<Pick<StackResults, 'measurements' | 'steady' | 'completed'>> {
  const groundwork = await layGroundwork(stack)
  const measurements: Measurement[] = []
  const steady: SteadyMeasurement[] = []
  for (const call of CALLS.filter(({ name }) => calls.includes(name))) {
    const measuring = new Measuring(stack, groundwork, call)
    await measuring.warmUp()
    for (const one of concurrency) {
      const around = aroundWith(stack, `${call.name}-${String(one)}`)
      // A profile is of one run, and is not compared with anything.
      const measurement = profile
        ? await measuring.measure({ concurrency: one, seconds, around })
        : await measuring.measureRepeatedly({ concurrency: one, seconds })
      measurements.push(measurement)
      const { perSecond, shareOfFloor } = measurement
      say(
        `${call.title}, ${String(one)} at a time: ${perSecond.toFixed(0)}/s, ${(shareOfFloor * 100).toFixed(0)} % of its floor`
      )
    }
    // A profiled process is slower, so its latencies are not reported.
    if (!profile) steady.push(await measuring.measureSteady(seconds, STEADY_PART))
  }
  const completed = calls.includes('completed')
    ? await measureCompleted(stack, groundwork, { concurrency: 8, seconds })
    : undefined
  return { measurements, steady, completed }
}

/** Profiles the measured calls. The figures are not comparable, because a profiled process is slower. */
function aroundWith(stack: Stack, name: string): MeasureOptions['around'] {
  return (work) => profiling(stack, RESULTS, name, work)
}

function say(text: string): void {
  console.log(`  ${text}`)
}

function describeMachine(): string {
  const [first] = cpus()
  const memory = `${(totalmem() / GIBIBYTE).toFixed(0)} GiB`
  return `${String(cpus().length)} × ${first?.model ?? 'unknown'}, ${memory}, Node ${process.versions.node}`
}

function commitOf(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
}
