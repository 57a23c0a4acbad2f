import {
  describeInterval,
  INTERVAL_LENGTH_MAX,
  intervalBounds,
  IntervalError,
  intervalIndexAt,
  parseRepeatingInterval,
  type RepeatingInterval
} from '@open-payments-server/value-types/intervals'
import fc from 'fast-check'
import { interval } from '../generators/intervals.js'
import { anyText, grown, mutated } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** Longest text that could say what an interval is, for a person, in characters. */
const DESCRIPTION_LENGTH_MAX = 256

/** The last instant of the year 9999, and beyond, in milliseconds since 1970. */
const INSTANTS_MS = [0, -1, 1, 253_402_300_799_999, 253_402_300_800_000, 8.64e15, -8.64e15] as const
const INDEXES = [0n, -1n, 1n, 2n ** 53n, -(2n ** 53n), 2n ** 64n, 10n ** 30n] as const

const texts = fc.oneof(
  { weight: 12, arbitrary: interval },
  {
    weight: 4,
    arbitrary: mutated(
      interval,
      fc.constantFrom('R', 'P', 'T', '/', '-', ':', '.', 'Z', '+', '0', '9', 'M', 'D')
    )
  },
  { weight: 1, arbitrary: anyText },
  {
    weight: 1,
    arbitrary: grown(fc.constantFrom('R', '9', '0', '/', 'P', 'P1', '1D', '.', 'Z', ' '), INTERVAL_LENGTH_MAX)
  }
)

const cases = fc.record({
  text: texts,
  instantMs: fc.oneof(
    fc.constantFrom(...INSTANTS_MS),
    fc.integer({ min: 0, max: 253_402_300_799_999 }),
    fc.nat(4e12)
  ),
  index: fc.oneof(fc.constantFrom(...INDEXES), fc.bigInt({ min: -100n, max: 100n }))
})

const refusalOf = (error: unknown): string | undefined =>
  error instanceof IntervalError ? 'refused' : undefined

function mustContain(parsed: RepeatingInterval, instantMs: number): void {
  const index = intervalIndexAt(parsed, new Date(instantMs))
  if (index === undefined) return
  const { start, end } = intervalBounds(parsed, index)
  mustHold(
    start.getTime() <= instantMs && instantMs < end.getTime(),
    'the interval of an instant contains it'
  )
  mustHold(
    parsed.count === undefined || (index >= 0n && index < BigInt(parsed.count)),
    'there are as many as there are'
  )
  const isServed = start.getTime() >= 0
  mustHold(!isServed || intervalIndexAt(parsed, start) === index, 'its start belongs to it')
  mustHold(intervalIndexAt(parsed, end) !== index, 'its end does not')
}

const repeatingIntervals = target({
  name: 'repeating intervals',
  share: 800,
  acceptedMin: 0.1,
  cases,
  attack: ({ text, instantMs, index }) =>
    refusedAs(() => {
      const parsed = parseRepeatingInterval(text)
      mustContain(parsed, instantMs)
      mustContain(parsed, parsed.anchorMs)
      mustContain(parsed, parsed.anchorMs - 1)
      const description = describeInterval(parsed)
      mustHold(
        description !== '' && description.length <= DESCRIPTION_LENGTH_MAX,
        'an interval can be told in a line'
      )
      refusedAs(() => {
        const { start, end } = intervalBounds(parsed, index)
        mustHold(start < end, 'an interval is not empty')
        return ACCEPTED
      }, refusalOf)
      return ACCEPTED
    }, refusalOf)
})

/** Everything that reads intervals. */
export const INTERVAL_TARGETS: readonly AnyTarget[] = [repeatingIntervals]
