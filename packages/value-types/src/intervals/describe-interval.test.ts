import { describe, expect, it } from '@jest/globals'
import { describeInterval, parseRepeatingInterval } from './index.js'

describe('an interval on the consent page', () => {
  it.each([
    ['R12/2026-01-01T00:00:00Z/P1M', 'every month from 1 January 2026, 12 times'],
    ['R/2026-01-31T00:00:00Z/P1M', 'every month from 31 January 2026, without end'],
    ['R-1/2026-01-01T09:30:00Z/P1W', 'every week from 1 January 2026, 09:30 UTC, without end'],
    ['R2/2026-01-01T00:00:05Z/P14D', 'every 2 weeks from 1 January 2026, 00:00:05 UTC, 2 times'],
    ['R5/2026-01-01T00:00:00.250Z/P12M', 'every year from 1 January 2026, 00:00:00.250 UTC, 5 times'],
    ['R5/2026-01-01T00:00:00Z/P18M', 'every 1 year and 6 months from 1 January 2026, 5 times'],
    ['R5/2026-01-01T01:00:00+02:00/PT24H', 'every day from 31 December 2025, 23:00 UTC, 5 times'],
    ['R5/2026-01-01T00:00:00Z/PT1.5S', 'every 1.5 seconds from 1 January 2026, 5 times'],
    [
      'R-1/P1Y2M10DT2H30M/2022-05-11T15:30:00Z',
      'every 1 year, 2 months, 10 days, 2 hours and 30 minutes until 11 May 2022, 15:30 UTC'
    ],
    ['R12/P1M/2027-01-01T00:00:00Z', 'every month until 1 January 2027, 12 times'],
    ['R1/P1M/2026-02-01T00:00:00Z', 'once, from 1 January 2026 to 1 February 2026'],
    ['R3/2026-01-01T00:00:00Z/2026-02-01T00:00:00Z', 'every 31 days from 1 January 2026, 3 times'],
    ['R1/2026-01-01T00:00:00Z/P1M', 'once, from 1 January 2026 to 1 February 2026'],
    ['R1/2026-01-01T00:00:00Z/PT90M', 'once, from 1 January 2026 to 1 January 2026, 01:30 UTC']
  ])('%s reads: %s', (text, words) => {
    expect(describeInterval(parseRepeatingInterval(text))).toBe(words)
  })
})
