import pg from 'pg'

/** A query in any of the forms that `pg` accepts: text or description first, then values, then an optional callback. */
export type Query = (...parameters: readonly unknown[]) => unknown

type Callback = (error: Error | null | undefined, result: unknown) => void

/** How long to wait for an answer, in addition to what `pg` itself supports. */
export interface AnswerLimit {
  /** How long a connection may give no answer before it counts as dead. No limit unless given. */
  readonly answerTimeoutMs?: number
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
 * A connection that is closed when PostgreSQL does not answer in time: its pending queries fail with {@link
 * NoDatabaseAnswer}.
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

  constructor(config?: string | (pg.ClientConfig & AnswerLimit)) {
    super(config)
    this.#answerTimeoutMs = typeof config === 'object' ? config.answerTimeoutMs : undefined
    const query = this.query.bind(this) as Query
    // `pg` distinguishes its overloads by their arguments; so does this.
    const limited: Query = (...parameters) => this.#ask(query, parameters)
    this.query = limited as typeof this.query
    this.once('end', () => {
      clearTimeout(this.#timer)
    })
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

  /** Starts waiting for an answer. */
  #expect(answer: Callback): Callback {
    const limitMs = this.#answerTimeoutMs
    if (limitMs === undefined) return answer
    this.#unansweredCount += 1
    this.#giveUpIn(limitMs)
    return (error, result) => {
      this.#unansweredCount -= 1
      answer(error, result)
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
    else this.connection.stream.destroy(new NoDatabaseAnswer())
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
