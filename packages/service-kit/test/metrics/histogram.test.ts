import { describe, expect, it } from '@jest/globals'
import { Histogram as TheirHistogram, type Metric, Registry } from 'prom-client'
import { Histogram } from '../../src/metrics/histogram.js'

const DESCRIPTION = { name: 'duration_seconds', help: 'How long it took.' }
const BOUNDS = [0.001, 0.25, 1, 10]

describe.each([[[]], [['method']], [['listener', 'method', 'status']]])('a histogram by %j', (labels) => {
  const ours = new Histogram(DESCRIPTION, labels, BOUNDS)
  const theirs = new TheirHistogram({
    ...DESCRIPTION,
    labelNames: labels,
    buckets: BOUNDS,
    registers: []
  })

  const published = async (metric: unknown): Promise<string> => {
    const registry = new Registry()
    registry.registerMetric(metric as Metric)
    return await registry.metrics()
  }

  it('reads as one of prom-client that was told the same', async () => {
    expect(await published(ours)).toBe(await published(theirs))
    const told = [0, 0.001, 0.0011, 0.25, 0.3, 1, 9.99, 10, 10.5, 1_000, -1]
    for (const [index, measured] of [...told, ...told].entries()) {
      const values = labels.map((_label, position) => ['a', 'b "c"\n', 'd'][(index + position) % 3] ?? '')
      ours.observe(...values, measured)
      if (labels.length === 0) theirs.observe(measured)
      else theirs.labels(...values).observe(measured)
    }
    const text = await published(ours)
    expect(text).toBe(await published(theirs))
    expect(text).toContain('duration_seconds_bucket{le="+Inf"')
  })

  it.each([NaN, Infinity])('refuses %s, and counts nothing', async (measured) => {
    const before = await published(ours)
    const values = labels.map(() => 'a')
    expect(() => {
      ours.observe(...values, measured)
    }).toThrow(new TypeError(`duration_seconds: ${String(measured)} cannot be counted`))
    expect(await published(ours)).toBe(before)
  })
})
