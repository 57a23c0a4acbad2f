import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** What the auth server is to be told of a payment. */
export interface FoundOutcome {
  /** undefined while that is not decided. */
  readonly outcome: 'settle' | 'release' | undefined
  /** How often it was tried. */
  readonly attempts: number
  /** undefined until it was acknowledged. */
  readonly deliveredAtMs: number | undefined
}

const FIND = new Statement<{
  readonly outcome: 'settle' | 'release' | null
  readonly attempts: number
  readonly delivered_at: Date | null
}>(
  'find-outcome',
  Prisma.sql`select outcome, attempts, delivered_at from grant_reservation where payment_id = ${placeholder('id')}::uuid`,
  { prepared: false }
)

/** Finds the outcome of a payment (UUID); undefined when there is no entry for it. */
export async function findOutcome(on: Queries, paymentId: string): Promise<FoundOutcome | undefined> {
  const [row] = await FIND.rows(on, { id: paymentId })
  return (
    row && {
      outcome: row.outcome ?? undefined,
      attempts: row.attempts,
      deliveredAtMs: row.delivered_at?.getTime()
    }
  )
}
