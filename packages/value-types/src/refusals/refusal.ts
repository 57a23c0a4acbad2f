/** Details of a refusal besides its reason. */
export interface RefusalOptions {
  /** More for the caller, by field: a malformed field's name and what was expected of it. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** When the caller may try again, in seconds; undefined when that is not known. */
  readonly retryAfterSeconds?: number | undefined
  /** The actual cause; only for the log. */
  readonly cause?: unknown
}

/**
 * A refused request, in the terms of the domain. Each transport maps reasons in one table: to an HTTP status and code, or a
 * gRPC status. The message and the details are for the caller: they contain nothing internal and no secret.
 */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly retryAfterSeconds: number | undefined

  /** @param because the reason, which transports and counters branch on */
  constructor(
    readonly because: string,
    message: string,
    { details, retryAfterSeconds, cause }: RefusalOptions = {}
  ) {
    super(message, { cause })
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A refusal that is about one field of the request. */
export class FieldRefusal<Because extends string> extends Refusal {
  override readonly name: string = 'FieldRefusal'
  /** The field at fault, in the terms of the contract: `debit_amount.value`; undefined when there is none. */
  readonly field: string | undefined

  constructor(
    override readonly because: Because,
    message: string,
    { field, cause }: { readonly field?: string; readonly cause?: unknown } = {}
  ) {
    super(because, message, { cause })
    this.field = field
  }
}
