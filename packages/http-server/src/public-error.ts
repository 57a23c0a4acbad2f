import type { Refusal } from '@open-payments-server/value-types/refusals'
import type { HttpErrorStatus } from './http-errors.js'

/** What a caller and the log get of an error. */
export interface PublicErrorOptions {
  /** HTTP status. */
  readonly status: number
  /** Machine-readable code of the error body. */
  readonly code: string
  /** Text for the caller. Holds nothing internal and no secret. */
  readonly description: string
  /** More for the caller, by field: a malformed field's name and what was expected of it. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Headers of the answer, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The actual cause; only for the log. */
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

/** The answer to a refusal, with the status and the code that a service's table has for its reason. */
export function refusalAnswer(
  { message: description, details, retryAfterSeconds, cause }: Refusal,
  status: number,
  code: string
): PublicError {
  const headers = retryAfterSeconds === undefined ? undefined : { 'Retry-After': String(retryAfterSeconds) }
  return new PublicError({ status, code, description, details, headers, cause })
}

/** `Retry-After` of a 503, in seconds. */
const RETRY_AFTER_SECONDS = 1

/** 503: a dependency does not answer now. The client may retry. */
export function serviceUnavailable(code: string, cause: unknown): PublicError {
  return new PublicError({
    status: 503 satisfies HttpErrorStatus,
    code,
    description: 'temporarily unavailable',
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    cause
  })
}

/**
 * 405: the path is known, but not with this method (RFC 9110 §15.5.6).
 *
 * @param allow the methods that it supports
 */
export function methodNotAllowed(allow: readonly string[], badRequestCode: string): PublicError {
  return new PublicError({
    status: 405,
    code: codeOf(405, badRequestCode),
    description: 'the method is not allowed here',
    headers: { Allow: allow.join(', ') }
  })
}

/**
 * No true answer is possible, such as when the database that knows the result of a request does not answer. The connection
 * is closed without an answer: the client then knows that the result is unknown, and asks again.
 */
export class NoAnswer extends Error {
  /** Details for the log, besides the message and the cause. */
  readonly fields: Readonly<Record<string, unknown>>

  constructor(reason: string, options: { fields: Readonly<Record<string, unknown>>; cause: unknown }) {
    super(reason, { cause: options.cause })
    this.name = 'NoAnswer'
    this.fields = options.fields
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

/**
 * The error code of a bad request.
 *
 * @param badRequestCode one code for all of them; or `400`, and then each has its HTTP status as a string
 */
export function codeOf(status: HttpErrorStatus, badRequestCode: string): string {
  return badRequestCode === '400' ? String(status) : badRequestCode
}

/** Creates the body of an error answer. */
export function errorBody(
  code: string,
  description: string,
  details?: Readonly<Record<string, unknown>>
): ErrorBody {
  return { error: details === undefined ? { code, description } : { code, description, details } }
}
