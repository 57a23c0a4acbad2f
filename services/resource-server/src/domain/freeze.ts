/** An operator's freeze of an account or a wallet address. */
export interface Freeze {
  /** Since when, in milliseconds since the Unix epoch. */
  readonly sinceMs: number
  /** Who ordered it: a person, or the names in a machine's certificate; empty for a machine in plain text. */
  readonly by: string
  /** Why; empty when no reason was given. */
  readonly reason: string
}

/** An operator's order to freeze something, or to end its freeze. */
export interface FreezeOrder {
  readonly freezes: boolean
  /** See {@link Freeze}. */
  readonly by: string
  /** See {@link Freeze}. */
  readonly reason: string
  /** Ends only the freeze since then, in milliseconds since the Unix epoch; undefined for whichever there is. */
  readonly sinceMs: number | undefined
  readonly nowMs: number
}

/** The columns of a freeze: all null unless it is frozen. */
export interface FreezeColumns {
  readonly frozenAt: Date | null
  readonly frozenBy: string | null
  readonly freezeReason: string | null
}

/** Reads a freeze from its columns; undefined unless it is frozen. */
export function readFreeze({ frozenAt, frozenBy, freezeReason }: FreezeColumns): Freeze | undefined {
  if (frozenAt === null || frozenBy === null || freezeReason === null) return undefined
  return { sinceMs: frozenAt.getTime(), by: frozenBy, reason: freezeReason }
}

/** A freeze, or the end of one, as events tell it: who ordered it, and why. */
export interface FreezeWire {
  readonly frozen: boolean
  readonly by: string
  readonly reason: string
}
