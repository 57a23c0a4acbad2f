import { randomSequence, seedOf } from '@open-payments-server/testing'

/** Of how many boundaries a short run takes one. */
const SHORT_RUN_DIVISOR = 3

/** What a run does. */
export interface CrashRun<Crash> {
  /** Number of crashes at each boundary. */
  readonly rounds: number
  readonly crashes: readonly Crash[]
}

/**
 * Plans a run: a long one (`CRASH_TEST_ROUNDS`) crashes so often at every boundary, or at those whose names match `CRASH_TEST_STEPS`; a short
 * one once at a third of them, which is drawn anew each time; `CRASH_TEST_SEED` repeats it.
 */
export function crashesOfRun<Crash extends { readonly name: string }>(
  crashes: readonly Crash[]
): CrashRun<Crash> {
  const { CRASH_TEST_ROUNDS: rounds, CRASH_TEST_STEPS: steps = '' } = process.env
  if (rounds !== undefined)
    return { rounds: Number(rounds), crashes: crashes.filter(({ name }) => new RegExp(steps).test(name)) }
  const random = randomSequence(seedOf('CRASH_TEST_SEED'))
  const drawn = new Set(
    crashes
      .map((crash) => ({ crash, place: random() }))
      .toSorted((one, other) => one.place - other.place)
      .slice(0, Math.ceil(crashes.length / SHORT_RUN_DIVISOR))
      .map(({ crash }) => crash)
  )
  return { rounds: 1, crashes: crashes.filter((crash) => drawn.has(crash)) }
}
