/**
 * What is deleted once it is over: grants with everything that belongs to them, tokens of grants that stay, and refusals of
 * payments.
 */
export const PURGED_KINDS = ['grant', 'token', 'refusal'] as const

/** What the purge deletes. */
export type PurgedKind = (typeof PURGED_KINDS)[number]

/** Counts what was deleted. */
export type PurgeCounter = (kind: PurgedKind, count: number) => void
