import type { CpuByProcess } from './process-usage.js'

/** A call at a concurrency. Everything but rates and shares is for one request. */
export interface Measurement {
  readonly call: string
  readonly concurrency: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** CPU time by process. */
  readonly cpuMs: CpuByProcess
  /** SQL statements of both services, `begin` and `commit` included. */
  readonly statements: number
  /** Both ways, headers included; 0 where they were not counted. */
  readonly bytes: number
  /** How many were measured. */
  readonly requests: number
  readonly floorPerSecond: number
  readonly floorCpuMs: CpuByProcess
  /** Of the throughput of its floor. */
  readonly shareOfFloor: number
  /**
   * The CPU time that the floor needs for a request, as a share of what the call needs, everything included. Others who use
   * the machine change it less than throughput.
   */
  readonly cpuShareOfFloor: number
}

/** A call at half of what it can do. */
export interface SteadyMeasurement {
  readonly call: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Its floor, at half of what the floor can do: what the machine itself adds to a tail. */
  readonly floor: { readonly p50Ms: number; readonly p99Ms: number }
}

/** What a stack came to. */
export interface StackResults {
  readonly rows: number
  readonly replicas: number
  readonly rateLimits: boolean
  readonly hasRedis: boolean
  /** From the start of a process until it is ready, by service. */
  readonly startMs: Readonly<Record<string, number>>
  /** SQL statements in a second while nothing is asked of the services. */
  readonly idleStatementsPerSecond: number
  readonly measurements: readonly Measurement[]
  readonly steady: readonly SteadyMeasurement[]
  readonly completed?:
    | {
        readonly perSecond: number
        readonly createdPerSecond: number
        readonly settledPerSecond: number
        readonly count: number
      }
    | undefined
  /** Bytes that a service holds at the end, by service. */
  readonly memoryBytes: Readonly<Record<string, number>>
  /** What the audit of both services found. */
  readonly violations: readonly string[]
}

/** A run of the bench. */
export interface Results {
  /** When it began (ISO 8601). */
  readonly at: string
  readonly machine: string
  /** Load average of the minute before: above 0.5, other work was running. */
  readonly loadBefore: number
  readonly commit: string
  readonly stacks: readonly StackResults[]
}
