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
  /** Number of measured requests. */
  readonly requests: number
  readonly floorPerSecond: number
  readonly floorCpuMs: CpuByProcess
  /** Share of the throughput of its floor. */
  readonly shareOfFloor: number
  /**
   * CPU time of the floor for a request as a share of the call's, all processes included. Other work on the machine changes it less
   * than throughput.
   */
  readonly cpuShareOfFloor: number
}

/** A call at half of its maximum rate. */
export interface SteadyMeasurement {
  readonly call: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Its floor at half of the floor's maximum rate: shows what the machine itself adds to a tail. */
  readonly floor: { readonly p50Ms: number; readonly p99Ms: number }
}

/** Results of a stack. */
export interface StackResults {
  readonly rows: number
  readonly replicas: number
  readonly rateLimits: boolean
  readonly hasRedis: boolean
  /** From the start of a process until it is ready, by service. */
  readonly startMs: Readonly<Record<string, number>>
  /** SQL statements per second while the services are idle. */
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
  /** Resident memory at the end, in bytes, by service. */
  readonly memoryBytes: Readonly<Record<string, number>>
  /** Violations found by the audit. */
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
