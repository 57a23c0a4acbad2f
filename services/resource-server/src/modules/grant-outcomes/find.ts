import type { Queries } from '../database.js'

/** What the auth server is to be told of a payment. */
export interface FoundOutcome {
  /** undefined while that is not decided. */
  readonly outcome: 'settle' | 'release' | undefined
  /** How often it was tried. */
  readonly attempts: number
  /** undefined until it was acknowledged. */
  readonly deliveredAtMs: number | undefined
}

/** Finds the outcome of a payment (UUID); undefined when there is no entry for it. */
export async function findOutcome(on: Queries, paymentId: string): Promise<FoundOutcome | undefined> {
  const row = await on.grantReservation.findUnique({
    where: { paymentId },
    select: { outcome: true, attempts: true, deliveredAt: true }
  })
  if (row === null) return undefined
  const { outcome, attempts, deliveredAt } = row
  // A check constraint guarantees that it is one of them.
  return {
    outcome: (outcome ?? undefined) as FoundOutcome['outcome'],
    attempts,
    deliveredAtMs: deliveredAt?.getTime()
  }
}
