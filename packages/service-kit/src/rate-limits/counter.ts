/**
 * What is counted: requests of an address, of a client, and about a wallet address; and of these, by address and by client,
 * those that may leave a row in a database.
 */
export const LIMIT_KINDS = ['address', 'client', 'wallet-address', 'address-rows', 'client-rows'] as const

/** Kind of a limit; its name in `RateLimit-Policy`. */
export type LimitKind = (typeof LIMIT_KINDS)[number]

/** How often something may happen: so many times within a window that begins with the first of them. */
export interface RateLimit {
  readonly points: number
  /** Length of the window, in seconds. */
  readonly durationSeconds: number
}

/** What a count has come to. */
export interface Count {
  /** Whether there was no point left for it. */
  readonly isOver: boolean
  /** Points left in the window. */
  readonly remaining: number
  /** When the window ends, in milliseconds from now. */
  readonly resetMs: number
}
