/** What a caller is told of an error, and what only the log is told. */
export interface PublicErrorOptions {
  /** HTTP status. */
  readonly status: number
  /** Machine-readable code of the error body. */
  readonly code: string
  /** Text for the caller. Holds nothing internal and no secret. */
  readonly description: string
  /** More for the caller, by field: a malformed field's name and what was expected of it. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Headers of the answer, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** What really happened; for the log alone. */
  readonly cause?: unknown
}

/**
 * An error that a caller may see. It is rendered in one place, as `{ "error": { "code", "description", "details"? } }`;
 * every other error is answered with an opaque 500.
 */
export class PublicError extends Error {
  readonly status: number
  readonly code: string
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(options: PublicErrorOptions) {
    super(options.description, { cause: options.cause })
    this.name = 'PublicError'
    this.status = options.status
    this.code = options.code
    this.details = options.details
    this.headers = options.headers ?? {}
  }

  /** The answer's body. */
  body(): ErrorBody {
    return errorBody(this.code, this.message, this.details)
  }
}

/** The body of every error answer, of both servers. */
export interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly description: string
    readonly details?: Readonly<Record<string, unknown>>
  }
}

/** Makes the body of an error answer. */
export function errorBody(
  code: string,
  description: string,
  details?: Readonly<Record<string, unknown>>
): ErrorBody {
  return { error: details === undefined ? { code, description } : { code, description, details } }
}
