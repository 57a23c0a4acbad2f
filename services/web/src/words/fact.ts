/** A fact that an account holder is told. */
export interface Fact {
  readonly label: string
  readonly value: string
  /** What is said of it, smaller. */
  readonly remark?: string
}
