import { CALLS } from './calls.js'
import type { Measurement, StackResults, SteadyMeasurement } from './results.js'

/** A goal and its result. */
export interface Goal {
  readonly title: string
  readonly bound: string
  readonly measured: string
  readonly isMet: boolean
}

const SHARE_MIN = { read: 0.6, create: 0.5 } as const
const COMPLETED_SHARE_MIN = 0.3
const TAIL_MAX = 5
const START_MAX_MS = 2_000
const IDLE_STATEMENTS_MAX = 5
const HOT_GRANT_MAX = 1.5
const GROWTH_MAX = 1.3
const MEMORY_MAX_MIB = 200
const REFERENCE_FACTOR_MIN = 10
const MEBIBYTE = 1_048_576
/** The concurrency at which shares and factors are evaluated. */
const CONCURRENCY = 8

/** Evaluates the results of stacks: the goals of each, and how much slower the last may be than the first. */
export function evaluateGoals(stacks: readonly StackResults[]): Goal[] {
  const [first, last] = [stacks[0], stacks[stacks.length - 1]]
  if (first === undefined || last === undefined) return []
  return [...evaluateStack(first), ...(first === last ? [] : evaluateGrowth(first, last))]
}

function evaluateStack(stack: StackResults): Goal[] {
  const measured = stack.measurements.filter(({ concurrency }) => concurrency === CONCURRENCY)
  return [
    ...measured.flatMap(evaluateShare),
    ...evaluateCompleted(stack),
    ...evaluateHotGrant(measured),
    ...stack.steady.map(evaluateTail),
    ...Object.entries(stack.startMs).map(([service, ms]) =>
      atMost(`${service}: start to ready`, ms / 1_000, START_MAX_MS / 1_000, ' s')
    ),
    ...Object.entries(stack.memoryBytes).map(([service, bytes]) =>
      atMost(`${service}: memory`, bytes / MEBIBYTE, MEMORY_MAX_MIB, ' MiB')
    ),
    atMost('idle SQL statements a second', stack.idleStatementsPerSecond, IDLE_STATEMENTS_MAX, '')
  ]
}

function evaluateShare({ call: name, shareOfFloor, perSecond, floorPerSecond }: Measurement): Goal[] {
  const call = CALLS.find((one) => one.name === name)
  if (call === undefined) return []
  const timesReference = atLeast(
    `${name}: times the reference`,
    perSecond / call.referencePerSecond,
    REFERENCE_FACTOR_MIN,
    ' ×'
  )
  // If the floor itself stays below it, the machine is too slow for it.
  const floor = (floorPerSecond / call.referencePerSecond).toFixed(1)
  return [
    atLeast(`${name}: share of its floor`, shareOfFloor, SHARE_MIN[call.class], ''),
    { ...timesReference, measured: `${timesReference.measured}, its floor ${floor} ×` }
  ]
}

function evaluateTail({ call, p50Ms, p99Ms, floor }: SteadyMeasurement): Goal {
  const tail = atMost(`${call}: p99 over p50 at half of the load`, p99Ms / p50Ms, TAIL_MAX, ' ×')
  const details = `${p99Ms.toFixed(1)} over ${p50Ms.toFixed(1)} ms, its floor ${(floor.p99Ms / floor.p50Ms).toFixed(1)} ×`
  return { ...tail, measured: `${tail.measured}: ${details}` }
}

function evaluateCompleted({ completed }: StackResults): Goal[] {
  if (completed === undefined) return []
  const share = completed.perSecond / completed.createdPerSecond
  return [atLeast('completed: share of created', share, COMPLETED_SHARE_MIN, '')]
}

function evaluateHotGrant(measured: readonly Measurement[]): Goal[] {
  const rate = (name: string) => measured.find(({ call }) => call === name)?.perSecond
  const [one, many] = [rate('payment'), rate('payment-grants')]
  return one === undefined || many === undefined
    ? []
    : [atMost('many grants over one hot grant', many / one, HOT_GRANT_MAX, ' ×')]
}

/** Shares of floors are compared, not rates: floors do not depend on the data, and the machine may be slower at another time. */
function evaluateGrowth(first: StackResults, last: StackResults): Goal[] {
  return first.measurements.flatMap(({ call, concurrency, shareOfFloor }) => {
    const grown = last.measurements.find((one) => one.call === call && one.concurrency === concurrency)
    if (grown === undefined || first.replicas !== last.replicas) return []
    const title = `${call} at ${String(concurrency)}: slower with ${last.rows.toLocaleString('en')} rows`
    return [atMost(title, shareOfFloor / grown.shareOfFloor, GROWTH_MAX, ' ×')]
  })
}

function atLeast(title: string, value: number, bound: number, unit: string): Goal {
  return {
    title,
    bound: `≥ ${String(bound)}${unit}`,
    measured: `${value.toFixed(2)}${unit}`,
    isMet: value >= bound
  }
}

function atMost(title: string, value: number, bound: number, unit: string): Goal {
  return {
    title,
    bound: `≤ ${String(bound)}${unit}`,
    measured: `${value.toFixed(2)}${unit}`,
    isMet: value <= bound
  }
}
