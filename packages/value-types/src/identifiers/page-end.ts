/** The last item of a page, in a list ordered by both fields: the next page begins after it. */
export interface PageEnd {
  readonly createdAtMs: number
  /** Id (UUID). */
  readonly id: string
}
