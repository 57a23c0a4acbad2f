/** What is deleted once it is over: quotes that no payment used, and incoming payments that never received anything. */
export const PURGED_KINDS = ['quote', 'incoming-payment'] as const

/** What the purge deletes. */
export type PurgedKind = (typeof PURGED_KINDS)[number]

/** Counts what was deleted. */
export type PurgeCounter = (kind: PurgedKind, count: number) => void
