/** The parts of a request and its answer that a contract covers. */
export interface Exchange {
  readonly method: string
  /** The URL or path that was requested. */
  readonly url: string
  /** `Accept` of the request; undefined when it had none. */
  readonly accept: string | undefined
  readonly status: number
  /** A header of the answer; null when missing. */
  readonly header: (name: string) => string | null
  /** The body of the answer. */
  readonly text: string
}
