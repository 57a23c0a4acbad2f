/**
 * How many causes of an error are searched for the database's own error: Prisma wraps it twice, services may wrap it once
 * more.
 */
const depthMax = 8

/** The database's error in a chain of causes, whether pg, Prisma's adapter or its client reported it. */
interface DatabaseFacts {
  /** SQLSTATE, system (`ECONNREFUSED`) and Prisma (`P2002`) codes. */
  readonly codes: ReadonlySet<string>
  readonly messages: readonly string[]
  /** Names of constraints and, where only these are known, the columns joined by commas. */
  readonly constraints: ReadonlySet<string>
}

/**
 * A unique or primary key refused the row (SQLSTATE 23505).
 *
 * @param constraint only when it was this constraint or unique index
 */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const { codes, constraints } = factsOf(error)
  return (
    ['23505', 'P2002'].some((code) => codes.has(code)) &&
    (constraint === undefined || constraints.has(constraint))
  )
}

/** The transaction lost against another one and may be retried (SQLSTATE 40001, or 40P01: deadlock). */
export function isSerializationFailure(error: unknown): boolean {
  const { codes } = factsOf(error)
  return ['40001', '40P01', 'P2034'].some((code) => codes.has(code))
}

/** A table that the statement names does not exist (SQLSTATE 42P01). */
export function isMissingRelation(error: unknown): boolean {
  return factsOf(error).codes.has('42P01')
}

/** Another session created the database meanwhile. Which of the two codes is reported depends on timing. */
export function isDuplicateDatabase(error: unknown): boolean {
  return factsOf(error).codes.has('42P04') || isUniqueViolation(error, 'pg_database_datname_index')
}

const unavailableCodes: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'ETIMEDOUT', 'EPIPE'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'],
  // too many connections; out of memory; statement timeout; lock timeout; idle-in-transaction and session timeouts
  ...['53300', '53200', '57014', '55P03', '25P03', '25P04', '57P05'],
  // does not keep what it commits as it must
  'NOT_SYNCHRONOUS',
  // read-only, as one that is no longer the primary; no space left; failed input or output
  ...['25006', '53100', '58030'],
  // ended by an administrator; a crash elsewhere; starting up or shutting down
  ...['57P01', '57P02', '57P03'],
  // cannot reach; timed out; timed out; no TLS; connection closed; no connection free; too many connections
  ...['P1001', 'P1002', 'P1008', 'P1011', 'P1017', 'P2024', 'P2037'],
  // what Prisma's adapter makes of the codes and messages below
  'TlsConnectionError'
])

/** Codes of Node and OpenSSL for a server whose certificate is not accepted, or that does not get as far as showing it. */
const tlsCodes =
  /^(?:ERR_(?:TLS|SSL)_\w+|(?:CERT|CRL|UNABLE_TO|ERROR_IN)_\w+|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/

/** Messages of pg and Prisma without a code when a connection breaks or none is available in time. */
const unavailableMessages = [
  /^timeout exceeded when trying to connect/,
  /^The server does not support SSL connections/,
  /^There was an error establishing an SSL connection/,
  /^Connection terminated/,
  /^Client has encountered a connection error and is not queryable/,
  /^Client was closed and is not queryable/,
  /Unable to start a transaction in the given time/,
  /expired transaction/
]

/**
 * The database cannot be reached, shows a certificate that is not accepted, is overloaded or did not answer in time. It is then unknown whether a running statement
 * had its effect.
 */
export function isUnavailable(error: unknown): boolean {
  const { codes, messages } = factsOf(error)
  return (
    [...codes].some((code) => unavailableCodes.has(code) || /^08\w{3}$/.test(code) || tlsCodes.test(code)) ||
    messages.some((message) => unavailableMessages.some((pattern) => pattern.test(message)))
  )
}

/** The connection was refused, because the server does not keep what it commits as `synchronous` says. */
export function isCommittingAlone(error: unknown): boolean {
  return factsOf(error).codes.has('NOT_SYNCHRONOUS')
}

/**
 * A retry may succeed: the database does not answer now, or aborted the transaction in favour of another. As with {@link
 * isUnavailable}, it may be unknown whether a running statement had its effect.
 */
export function isTransient(error: unknown): boolean {
  return isUnavailable(error) || isSerializationFailure(error)
}

function factsOf(error: unknown): DatabaseFacts {
  const facts = { codes: new Set<string>(), messages: [] as string[], constraints: new Set<string>() }
  collect(error, facts, depthMax)
  return facts
}

interface MutableFacts {
  readonly codes: Set<string>
  readonly messages: string[]
  readonly constraints: Set<string>
}

/**
 * Reads one level and continues with `cause` (ours, and Prisma's adapter), `meta.driverAdapterError` (Prisma's client) and
 * `errors` (several addresses that failed).
 */
function collect(value: unknown, facts: MutableFacts, depthLeft: number): void {
  if (typeof value !== 'object' || value === null || depthLeft === 0) return
  const level = value as Readonly<Record<string, unknown>>
  for (const code of [level.code, level.originalCode]) if (typeof code === 'string') facts.codes.add(code)
  if (typeof level.kind === 'string') facts.codes.add(codeOfKind[level.kind] ?? level.kind)
  for (const message of [level.message, level.originalMessage]) {
    if (typeof message !== 'string') continue
    facts.messages.push(message)
    // Prisma's adapter drops the name of a check constraint, but the message contains it.
    const named = / constraint "([^"]+)"/.exec(message)?.[1]
    if (named !== undefined) facts.constraints.add(named)
  }
  collectConstraint(level.constraint, facts)
  collect(level.cause, facts, depthLeft - 1)
  if (typeof level.meta === 'object' && level.meta !== null && 'driverAdapterError' in level.meta) {
    collect(level.meta.driverAdapterError, facts, depthLeft - 1)
  }
  if (Array.isArray(level.errors)) for (const inner of level.errors) collect(inner, facts, depthLeft - 1)
}

function collectConstraint(constraint: unknown, { constraints }: MutableFacts): void {
  if (typeof constraint === 'string') constraints.add(constraint)
  if (typeof constraint !== 'object' || constraint === null) return
  if ('index' in constraint && typeof constraint.index === 'string') constraints.add(constraint.index)
  if ('fields' in constraint && Array.isArray(constraint.fields)) constraints.add(constraint.fields.join(','))
}

/** Kinds of errors of Prisma's adapter that come from the network, without a SQLSTATE. */
const codeOfKind: Readonly<Record<string, string>> = {
  DatabaseNotReachable: 'ECONNREFUSED',
  ConnectionClosed: 'ECONNRESET',
  SocketTimeout: 'ETIMEDOUT',
  TooManyConnections: '53300',
  TransactionWriteConflict: '40001',
  UniqueConstraintViolation: '23505'
}
