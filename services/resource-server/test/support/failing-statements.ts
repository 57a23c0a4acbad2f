import type { DatabasePool } from '@open-payments-server/database'

/** What happens to statements on their way. */
export interface Disturbance {
  /** Matches the text of the statements that it happens to. */
  readonly statements: RegExp
  /**
   * `before`: the database never hears of it. `during`: the database works on it, and the service has lost sight of it.
   * `after`: it is done, and the service does not hear of it.
   */
  readonly moment: 'before' | 'during' | 'after'
  /** To how many statements it happens; to all unless given. */
  readonly times?: number
}

/** A disturbance under way. */
export interface Disturbed {
  /** What became of the statements that the service lost sight of. */
  readonly outcomes: readonly Promise<unknown>[]
  /** How many statements it has happened to. */
  readonly count: number
  /** Lets everything pass again. */
  stop(): void
}

type Query = (...values: readonly unknown[]) => Promise<unknown>

/** Breaks the connection under certain statements that are sent over a pool. */
export function disturb(
  pool: DatabasePool,
  { statements, moment, times = Infinity }: Disturbance
): Disturbed {
  const original = pool.query as unknown as Query
  const outcomes: Promise<unknown>[] = []
  let count = 0
  const query: Query = async (...values) => {
    const [first] = values
    const text = typeof first === 'string' ? first : (first as { text: string }).text
    if (count >= times || !statements.test(text)) return original.apply(pool, [...values])
    count += 1
    if (moment !== 'before') {
      const outcome = original.apply(pool, [...values])
      outcomes.push(outcome)
      outcome.catch(() => undefined) // told by `outcomes`
      if (moment === 'after') await outcome
    }
    throw new Error('Connection terminated unexpectedly')
  }
  pool.query = query as unknown as typeof pool.query
  return {
    outcomes,
    get count() {
      return count
    },
    stop() {
      pool.query = original as unknown as typeof pool.query
    }
  }
}
