import type { Clock } from '@open-payments-server/value-types/clock'

/** The clock of this machine. */
export const systemClock: Clock = { now: () => Date.now() }
