/** A request and its answer, as far as a contract says something of them. */
export interface Exchange {
  readonly method: string
  /** The URL or path that was requested. */
  readonly url: string
  /** `Accept` of the request; undefined when it had none. */
  readonly accept: string | undefined
  readonly status: number
  /** A header of the answer; null when it is not there. */
  readonly header: (name: string) => string | null
  /** The body of the answer. */
  readonly text: string
}
