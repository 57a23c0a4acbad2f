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
 *
 * Whoever has reasons of its own has a class of its own, so that the compiler knows which of them its table must have.
 */
export abstract class Refusal<Because extends string = string> extends Error {
  override readonly name: string = 'Refusal'
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly retryAfterSeconds: number | undefined

  /** @param because the reason, which transports and counters branch on */
  constructor(
    readonly because: Because,
    message: string,
    { details, retryAfterSeconds, cause }: RefusalOptions = {}
  ) {
    super(message, { cause })
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Why any service may refuse a request: the table of each has these reasons and its own. */
export type CommonReason =
  /** A field of the request is missing or wrong. */
  | 'invalid-field'
  /** The body is in a format that is not read here. */
  | 'unknown-format'
  /** Over a rate limit: thrown by the limits themselves. */
  | 'too-many-requests'

/** A request that any service refuses, for a reason that packages know. */
export class CommonRefusal extends Refusal<CommonReason> {}

/**
 * Refuses a field that is missing or wrong.
 *
 * @param field its path: `access_token.access.0.identifier`
 */
export function invalidField(field: string, problem: string): Error {
  return new CommonRefusal('invalid-field', `invalid ${field}: ${problem}`, { details: { [field]: problem } })
}

/** A refusal that is about one field of the request. */
export class FieldRefusal<Because extends string> extends Refusal<Because> {
  override readonly name: string = 'FieldRefusal'
  /** The field at fault, in the terms of the contract: `debit_amount.value`; undefined when there is none. */
  readonly field: string | undefined

  constructor(
    because: Because,
    message: string,
    { field, cause }: { readonly field?: string; readonly cause?: unknown } = {}
  ) {
    super(because, message, { cause })
    this.field = field
  }
}
