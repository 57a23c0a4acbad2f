import type { DatabasePool } from '@open-payments-server/database'

/** A fault of statements in transit. */
export interface Disturbance {
  /** Matches the text of the affected statements. */
  readonly statements: RegExp
  /**
   * `before`: the database never hears of it. `during`: the database works on it, and the service has lost sight of it.
   * `after`: it is done, and the service does not hear of it.
   */
  readonly moment: 'before' | 'during' | 'after'
  /** Maximum number of affected statements; default: all. */
  readonly times?: number
}

/** A running disturbance. */
export interface Disturbed {
  /** Results of the statements whose connection the service lost. */
  readonly outcomes: readonly Promise<unknown>[]
  /** Number of affected statements. */
  readonly count: number
  /** Ends the disturbance. */
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
