import { describe, expect, it } from '@jest/globals'
import { evaluateGoals } from '../src/goals.js'
import type { Measurement, StackResults } from '../src/results.js'

function measurement(call: string, perSecond: number, shareOfFloor = 1): Measurement {
  return {
    call,
    concurrency: 8,
    perSecond,
    shareOfFloor,
    cpuShareOfFloor: 1,
    p50Ms: 1,
    p99Ms: 2,
    maxMs: 3,
    cpuMs: {},
    statements: 1,
    bytes: 1,
    requests: 1,
    floorPerSecond: perSecond / shareOfFloor,
    floorCpuMs: {}
  }
}

function stack(measurements: readonly Measurement[], rows = 0): StackResults {
  return {
    rows,
    measurements,
    replicas: 1,
    rateLimits: true,
    hasRedis: true,
    startMs: {},
    idleStatementsPerSecond: 0,
    steady: [],
    memoryBytes: {},
    violations: []
  }
}

function missed(stacks: readonly StackResults[]): string[] {
  return evaluateGoals(stacks)
    .filter(({ isMet }) => !isMet)
    .map(({ title }) => title)
}

describe('goals', () => {
  it('are higher for reads than for creations', () => {
    const one = stack([
      measurement('incoming-get', 10_000, 0.55),
      measurement('incoming-create', 10_000, 0.55)
    ])
    expect(missed([one])).toEqual(['incoming-get: share of its floor'])
  })

  it('ask for ten times the reference', () => {
    expect(missed([stack([measurement('quote', 1_829)])])).toEqual(['quote: times the reference'])
    expect(missed([stack([measurement('quote', 1_830)])])).toEqual([])
  })

  it('are missed where a hot grant is much slower than many', () => {
    const hot = stack([measurement('payment', 1_000), measurement('payment-grants', 1_600)])
    expect(missed([hot])).toEqual(['many grants over one hot grant'])
  })

  it('are missed where a call becomes slower as data grows', () => {
    const [small, grown] = [
      stack([measurement('quote', 4_000)]),
      stack([measurement('quote', 4_000, 0.7)], 1_000_000)
    ]
    expect(missed([small, grown])).toEqual(['quote at 8: slower with 1,000,000 rows'])
  })
})
