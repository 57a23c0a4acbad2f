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
  readonly results: readonly Promise<unknown>[]
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
  const results: Promise<unknown>[] = []
  let count = 0
  const query: Query = async (...values) => {
    const [first] = values
    const text = typeof first === 'string' ? first : (first as { text: string }).text
    if (count >= times || !statements.test(text)) return original.apply(pool, [...values])
    count += 1
    if (moment !== 'before') {
      const result = original.apply(pool, [...values])
      results.push(result)
      result.catch(() => undefined) // told by `results`
      if (moment === 'after') await result
    }
    throw new Error('Connection terminated unexpectedly')
  }
  pool.query = query as unknown as typeof pool.query
  return {
    results,
    get count() {
      return count
    },
    stop() {
      pool.query = original as unknown as typeof pool.query
    }
  }
}
