import pg from 'pg'

/** A query in any of the forms that `pg` takes: text or description first, then values, then a callback or none. */
export type Query = (...parameters: readonly unknown[]) => unknown

type Callback = (error: Error | null | undefined, result: unknown) => void

/** How long an answer is waited for, besides what `pg` itself can be told of a connection. */
export interface AnswerLimit {
  /** How long a connection may give no answer before it counts as dead. Absent: no limit. */
  readonly answerTimeoutMs?: number
}

/** PostgreSQL did not answer in time, not even that it cancelled the statement: nobody knows whether it had its effect. */
export class NoDatabaseAnswer extends Error {
  /** That of a connection which breaks for the same reason. */
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database did not answer in time')
    this.name = 'NoDatabaseAnswer'
  }
}

/**
 * A connection that ends when PostgreSQL does not answer in time: whatever it was asked fails with {@link NoDatabaseAnswer}.
 *
 * In place of `query_timeout` of `pg`, and of its promises, because both write `query.callback = (…) => …`. V8 places a function
 * that is written as the value of a property among old objects at once, and what it reaches is kept until those are
 * collected: every result would grow old.
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
    // `pg` tells its forms apart by what it is given; so does this, whatever the overload.
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

  /** Begins to wait for an answer. */
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
    // A timer that rings before that looks again then: setting one for each statement would cost more.
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

/** A cursor or stream, which is over when its reader says so. */
export function isSubmittable(first: unknown): boolean {
  return typeof first === 'object' && first !== null && 'submit' in first
}

/** The stack of a PostgreSQL error is that of the socket's reader. The caller's stack says more. */
function leadBack(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error)
  throw error
}
