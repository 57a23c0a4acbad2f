/** What a refusal says besides why. */
export interface RefusalOptions {
  /** More for the caller, by field: a malformed field's name and what was expected of it. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** What really happened; for the log alone. */
  readonly cause?: unknown
}

/**
 * Something that was asked for and is refused, in the words of the domain. Each transport says in one table what every reason is
 * there: which HTTP status and code, which gRPC status. The message and the details are for the caller: they hold nothing internal
 * and no secret.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  readonly details: Readonly<Record<string, unknown>> | undefined

  /** @param because the reason, by which transports and counters tell refusals apart */
  constructor(
    readonly because: string,
    message: string,
    { details, cause }: RefusalOptions = {}
  ) {
    super(message, { cause })
    this.details = details
  }
}
