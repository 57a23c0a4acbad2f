/** What is deleted once it is over: grants with everything that belongs to them, and tokens of grants that stay. */
export const PURGED_KINDS = ['grant', 'token'] as const

/** Counts what was deleted. */
export type PurgeCounter = (kind: (typeof PURGED_KINDS)[number], count: number) => void
