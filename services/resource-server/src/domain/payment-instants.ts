/** Settings that decide how far the instants of one payment may be apart. */
export interface PaymentInstantSettings {
  /** Age from which the sweeper gives up a reservation without a payment, in seconds. */
  readonly ORPHAN_AGE_SECONDS: number
  /** How often it looks for them, in seconds. */
  readonly SWEEP_INTERVAL_SECONDS: number
}

/** How old a signature may be by any setting, and half an hour by which clocks may differ, in seconds. */
const SIGNATURES_AND_CLOCKS_SECONDS = 3_600 + 1_800

/** How long persisting a payment may take after its charge was found recent enough, in seconds. */
const PERSISTING_SECONDS = 60

/**
 * How far apart the instants may be at which one payment was signed, charged and persisted, in seconds: a request that is
 * repeated after a crash finds its reservation until the sweeper gives it up.
 */
export function instantsApartMaxSeconds(settings: PaymentInstantSettings): number {
  return SIGNATURES_AND_CLOCKS_SECONDS + settings.ORPHAN_AGE_SECONDS + settings.SWEEP_INTERVAL_SECONDS
}

/**
 * Whether a payment was charged too long ago to be persisted now. After a long outage a repeated request may find its
 * reservation before the sweeper does; the payment would be charged to an interval in which nobody made it.
 */
export function isStaleCharge(chargedAtMs: number, nowMs: number, settings: PaymentInstantSettings): boolean {
  return nowMs - chargedAtMs > (instantsApartMaxSeconds(settings) - PERSISTING_SECONDS) * 1_000
}
