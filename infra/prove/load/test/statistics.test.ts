import { describe, expect, it } from '@jest/globals'
import { middleBy, percentile, shareOfFloor, summariseLatencies } from '../src/statistics.js'

describe('statistics', () => {
  it('give the nearest rank as a percentile', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1)
    expect([0.01, 0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([1, 50, 99, 100])
    expect(percentile([7], 0.5)).toBe(7)
    expect(percentile([], 0.5)).toBeNaN()
  })

  it('sum up latencies in any order', () => {
    expect(summariseLatencies(Float64Array.of(9, 1, 5))).toEqual({ p50Ms: 5, p99Ms: 9, maxMs: 9 })
  })

  it('take the middle one, the higher of two, and none of an empty list', () => {
    const valueOf = ({ value }: { value: number }): number => value
    expect(middleBy([{ value: 3 }, { value: 1 }, { value: 2 }], valueOf)).toEqual({ value: 2 })
    expect(middleBy([{ value: 4 }, { value: 1 }], valueOf)).toEqual({ value: 4 })
    expect(() => middleBy([], valueOf)).toThrow('no middle')
  })

  it('compare a call with the mean of its floor before and after it', () => {
    expect(shareOfFloor(300, [500, 700])).toBe(0.5)
  })
})
