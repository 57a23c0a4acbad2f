import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

const ELSEWHERE = new Statement<{ readonly id: string }>(
  'find-payments-elsewhere',
  Prisma.sql`
  select id from outgoing_payment
   where id = any(${placeholder('ids')}::uuid[]) and state::text = 'pending' and peer_id is not null`
)

/** Which of some payments (UUID) are pending, and go to receivers that are hosted elsewhere. */
export async function findPaymentsElsewhere(
  on: Queries,
  ids: readonly string[]
): Promise<ReadonlySet<string>> {
  const rows = await ELSEWHERE.rows(on, { ids: [...ids] })
  return new Set(rows.map(({ id }) => id))
}

/**
 * Fragment, an expression: since when that pending payment to another provider exists which has for longest, without those that wait until
 * packets are decided. It reads the index of pending payments.
 */
export const oldestElsewhere = Prisma.sql`(
  select min(p.created_at) from outgoing_payment p left join sending s on s.payment_id = p.id
   where p.state = 'pending' and p.peer_id is not null and (s.payment_id is null or s.due_at is not null))`
