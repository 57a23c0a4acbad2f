/** Where a page ends, in a list ordered by both fields: the next page begins after it, the one before it before. */
export interface PageEnd {
  readonly createdAtMs: number
  /** Id (UUID). */
  readonly id: string
}
