import { instantText, Statement } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { undecidedPayments } from '../../modules/approvals/index.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { fulfilledValue, standIns, standInsWritten } from '../../modules/interledger/index.js'
import { awaitsApproval, doubtful, isPending, sendingDoubted } from '../../modules/outgoing-payments/index.js'

/** Maximum number of payments of one statement. */
const AT_ONCE = 100
const CONDITION_BYTES = 32

const doubting = (name: string, chosen: Prisma.Sql) =>
  new Statement<{ readonly doubted: number; readonly waiting: number }>(
    name,
    Prisma.sql`
  with ${doubtful(chosen)}, ${standInsWritten}, ${sendingDoubted(fulfilledValue)}
  select (select count(*)::integer from sending_doubted) as doubted, (select count(*)::integer from stand_in) as waiting`,
    { prepared: false }
  )

// That a payment was approved may be lost as well, with what was sent for it.
const DOUBTS = [
  doubting('doubt-sendings', isPending),
  doubting('doubt-approvals', awaitsApproval(undecidedPayments))
]

/** What doubting needs. */
export interface DoubtDependencies {
  readonly database: Queries
  readonly clock: Clock
  readonly random: Random
}

/**
 * After the database lost commits: what was sent to other providers for payments that were pending, or awaited approval, before may be lost with them. Writes down
 * a packet for each that stands for it, and of which nothing is known, so that nothing is sent twice. So do those that were unknown before. An
 * operator decides about them.
 *
 * @returns number of payments that wait for that
 */
export async function doubtSendings(dependencies: DoubtDependencies): Promise<number> {
  let total = 0
  for (const statement of DOUBTS) total += await doubt(statement, dependencies)
  return total
}

async function doubt(
  statement: (typeof DOUBTS)[number],
  { database, clock, random }: DoubtDependencies
): Promise<number> {
  let total = 0
  for (;;) {
    const names = Array.from({ length: AT_ONCE }, () => ({
      id: newId(clock, random),
      condition: random.bytes(CONDITION_BYTES)
    }))
    const [row] = await statement.rows(database, {
      ...standIns(names),
      limit: AT_ONCE,
      now: instantText(clock.now())
    })
    if (row === undefined) throw new Error('a statement that always answers a row answered none')
    total += row.waiting
    if (row.doubted < AT_ONCE) return total
  }
}
