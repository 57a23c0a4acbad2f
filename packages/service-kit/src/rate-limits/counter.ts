/**
 * What is counted: requests of an address, of a client, and about a wallet address; and, by address, by site and by client,
 * those that may store a row in a database.
 */
export const LIMIT_KINDS = [
  'address',
  'client',
  'wallet-address',
  'address-rows',
  'site-rows',
  'client-rows'
] as const

/** Kind of a limit; its name in `RateLimit-Policy`. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** A limit: a number of times within a window that begins with the first of them. */
export interface RateLimit {
  readonly points: number
  /** Length of the window, in seconds. */
  readonly durationSeconds: number
}

/** The state of a count. */
export interface Count {
  /** Whether the limit is exceeded. */
  readonly isOver: boolean
  /** Points left in the window. */
  readonly remaining: number
  /** When the window ends, in milliseconds from now. */
  readonly resetMs: number
}
