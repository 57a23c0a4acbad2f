/** The last item of a page, in a list ordered by both: the next page begins after it. */
export interface PageEnd {
  readonly createdAt: Date
  /** Id (UUID). */
  readonly id: string
}
