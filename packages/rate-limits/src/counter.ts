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

/** Counts by key. */
export interface Counter {
  /**
   * Counts once more.
   *
   * @param key a hash: of one length, and telling nothing
   */
  count(key: string): Promise<Count>
}
