import { types } from 'node:util'

/** What a log says of an error. */
interface ErrorDescription {
  readonly type: string
  readonly message: string
  /** SQLSTATE, system or gRPC code. */
  readonly code?: string | number
  /** Facts of the database that name no value. */
  readonly constraint?: string
  readonly table?: string
  readonly column?: string
  /** Where it was thrown: without the message, which stands above. */
  readonly stack?: string
  readonly cause?: unknown
  /** Of several attempts, as to connect to each address of a host. */
  readonly errors?: readonly unknown[]
}

/** How deep causes are described. */
const DEPTH_MAX = 8
/** Longest message, in characters. */
const MESSAGE_LENGTH_MAX = 2_000
/** How much of a message is looked through: far beyond where it is cut. */
const LOOKED_THROUGH_LENGTH_MAX = 2 * MESSAGE_LENGTH_MAX
/** Facts that may be told beside the message. */
const FACTS = ['code', 'constraint', 'table', 'column'] as const

/** User and password of a URL, also one with an `@` in it that should have been escaped. */
const CREDENTIALS = /\/\/[^/\s]*@/g
/** What follows the scheme of an `Authorization` header, or the name of a secret. */
const TOKENS =
  /\b(GNAP|Bearer|Basic|\w*(?:password|secret|token|interact_ref|cookie|signature|value))(["']?\s*[:=]?\s*["']?)[\w.~+/=-]{16,}/gi

/**
 * Describes an error for a log, by what may be told rather than by what may not: errors of libraries carry along the row that a
 * database refused, the command that Redis did not take, or the URL that could not be read, with whatever secret is in it.
 */
export function describeError(error: unknown): unknown {
  return describe(error, DEPTH_MAX)
}

function describe(error: unknown, depthLeft: number): unknown {
  if (!isError(error)) return typeof error === 'string' ? withoutSecrets(error) : typeof error
  if (depthLeft === 0) return error.name
  const known = error as Error & { readonly errors?: unknown } & Readonly<
      Record<(typeof FACTS)[number], unknown>
    >
  const facts = FACTS.flatMap((name) => {
    const value = known[name]
    return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : []
  })
  const description: ErrorDescription = {
    type: error.name,
    message: withoutSecrets(error.message),
    ...Object.fromEntries(facts),
    ...(error.stack === undefined ? {} : { stack: framesOf(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: describe(error.cause, depthLeft - 1) }),
    ...(Array.isArray(known.errors)
      ? { errors: known.errors.map((one) => describe(one, depthLeft - 1)) }
      : {})
  }
  return description
}

/** Whether something is an error, also one made in another context of V8, as those of Node itself are for tests. */
export function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error)
}

/** Strikes out of a text what looks like a secret, and cuts it. Not the other way round: half a secret looks like none. */
export function withoutSecrets(message: string): string {
  return message
    .slice(0, LOOKED_THROUGH_LENGTH_MAX)
    .replace(CREDENTIALS, '//[redacted]@')
    .replace(TOKENS, '$1$2[redacted]')
    .slice(0, MESSAGE_LENGTH_MAX)
}

/** The lines of a stack that say where: the message stands before them. */
function framesOf(stack: string): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  return frames.join('\n')
}
