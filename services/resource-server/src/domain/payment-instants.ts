/**
 * How far apart the instants may be at which one payment was signed, charged and persisted, in seconds. It allows for a signature
 * as old as any setting accepts, for clocks half an hour apart, and for a repeated request that finds its reservation after a crash.
 * It depends on no setting: an audit must not find otherwise when one is changed.
 */
export const INSTANTS_APART_MAX_SECONDS = 7_200

/** How long persisting a payment may take after its charge was found recent enough, in seconds. */
const PERSISTING_SECONDS = 60

/**
 * Whether a payment was charged too long ago to be persisted now. After a long outage a repeated request may find its
 * reservation before the sweeper does; the payment would be charged to an interval in which nobody made it.
 */
export function isStaleCharge(chargedAtMs: number, nowMs: number): boolean {
  return nowMs - chargedAtMs > (INSTANTS_APART_MAX_SECONDS - PERSISTING_SECONDS) * 1_000
}
