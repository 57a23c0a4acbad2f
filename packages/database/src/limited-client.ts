import pg from 'pg'

/** A query in any of the forms that `pg` accepts: text or description first, then values, then an optional callback. */
export type Query = (...parameters: readonly unknown[]) => unknown

type Callback = (error: Error | null | undefined, result: unknown) => void

/** When a connection counts as dead, in addition to what `pg` itself supports. */
export interface ConnectionRules {
  /** How long a connection may give no answer before it counts as dead. No limit unless given. */
  readonly answerTimeoutMs?: number
  /** Whether a commit counts as unanswered that PostgreSQL stopped to keep back before a standby had it. */
  readonly refusesLocalCommits?: boolean
}

/** PostgreSQL did not answer in time, not even that it cancelled the statement: it is unknown whether it had its effect. */
class NoDatabaseAnswer extends Error {
  /** The code of a connection that breaks for the same reason. */
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database did not answer in time')
    this.name = 'NoDatabaseAnswer'
  }
}

/**
 * Someone cancelled the wait for a standby (`pg_cancel_backend`): PostgreSQL warns, and answers that it has committed. The primary alone
 * has it, so whether it stays is unknown.
 */
class LocalCommit extends Error {
  readonly code = 'ETIMEDOUT'

  constructor(warning: string) {
    super(`the database committed without a standby: ${warning}`)
    this.name = 'LocalCommit'
  }
}

/** SQLSTATE of warnings without one of their own, such as that of a cancelled wait: its text is in the server's language. */
const WARNING = '01000'

/**
 * A connection that is closed when PostgreSQL does not answer in time: its pending queries fail with {@link
 * NoDatabaseAnswer}. Also when it does not keep what it answers, with {@link LocalCommit}.
 *
 * It replaces `query_timeout` of `pg`, and its promises, because both write `query.callback = (…) => …`. V8 allocates a
 * function that is written as a property's value directly among old objects, and everything it references is kept until
 * those are collected: every result would become old.
 */
export class LimitedClient extends pg.Client {
  readonly #answerTimeoutMs: number | undefined
  #unansweredCount = 0
  #givenUpAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #timerRingsAtMs = 0
  #localCommit: LocalCommit | undefined

  constructor(config?: string | (pg.ClientConfig & ConnectionRules)) {
    super(config)
    const rules = typeof config === 'object' ? config : {}
    this.#answerTimeoutMs = rules.answerTimeoutMs
    if (rules.refusesLocalCommits === true) this.on('notice', this.#onNotice)
    const query = this.query.bind(this) as Query
    // `pg` distinguishes its overloads by their arguments; so does this.
    const limited: Query = (...parameters) => this.#ask(query, parameters)
    this.query = limited as typeof this.query
    this.once('end', () => {
      clearTimeout(this.#timer)
    })
  }

  /** Closes the connection at once: what it has not answered fails with the error. */
  giveUp(error: Error): void {
    this.connection.stream.destroy(error)
  }

  #ask(query: Query, parameters: readonly unknown[]): unknown {
    const [first] = parameters
    if (isSubmittable(first)) return query(...parameters)
    const last = parameters.at(-1)
    if (typeof last === 'function') {
      query(...parameters.slice(0, -1), this.#expect(last as Callback))
      return undefined
    }
    return new Promise((resolve, reject) => {
      const answered: Callback = (error, result) => {
        if (error) reject(error)
        else resolve(result)
      }
      query(...parameters, this.#expect(answered))
    }).catch(leadBack)
  }

  // The answer may be in the same packet as the warning, so closing the connection is not enough.
  readonly #onNotice = ({
    code,
    message
  }: {
    code?: string | undefined
    message?: string | undefined
  }): void => {
    if (code !== WARNING) return
    this.#localCommit = new LocalCommit(String(message))
    this.giveUp(this.#localCommit)
  }

  /** Starts waiting for an answer. */
  #expect(answer: Callback): Callback {
    const limitMs = this.#answerTimeoutMs
    this.#unansweredCount += 1
    if (limitMs !== undefined) this.#giveUpIn(limitMs)
    return (error, result) => {
      this.#unansweredCount -= 1
      answer(error ?? this.#localCommit, result)
    }
  }

  #giveUpIn(limitMs: number): void {
    this.#givenUpAtMs = performance.now() + limitMs
    // A timer that fires too early checks again: setting one for each statement would cost more.
    if (this.#timer === undefined || this.#givenUpAtMs < this.#timerRingsAtMs) this.#setTimer(limitMs)
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#timer)
    this.#timerRingsAtMs = performance.now() + ms
    const ring = (): void => {
      this.#ring()
    }
    this.#timer = setTimeout(ring, ms).unref()
  }

  #ring(): void {
    this.#timer = undefined
    if (this.#unansweredCount === 0) return
    const leftMs = this.#givenUpAtMs - performance.now()
    if (leftMs > 0) this.#setTimer(leftMs)
    else this.giveUp(new NoDatabaseAnswer())
  }
}

/** A cursor or stream, which ends when its reader says so. */
export function isSubmittable(first: unknown): boolean {
  return typeof first === 'object' && first !== null && 'submit' in first
}

/** The stack of a PostgreSQL error is that of the socket's reader. The caller's stack is more useful. */
function leadBack(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error)
  throw error
}
