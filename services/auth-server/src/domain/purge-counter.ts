/** What is deleted once it is over: grants with everything that belongs to them, and tokens of grants that stay. */
export const PURGED_KINDS = ['grant', 'token'] as const

/** What the purge deletes. */
export type PurgedKind = (typeof PURGED_KINDS)[number]

/** Counts what was deleted. */
export type PurgeCounter = (kind: PurgedKind, count: number) => void
