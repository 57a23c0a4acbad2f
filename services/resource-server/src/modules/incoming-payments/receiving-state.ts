import { placeholder, Statement } from '@open-payments-server/database'
import type { ReceivingState } from '../../domain/receiver.js'
import { Prisma, type Queries } from '../database.js'
const STATE = new Statement<{
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
}>(
  'find-receiving-state',
  Prisma.sql`
  select i.incoming_value::text, i.received_value::text, i.completed, i.expires_at
    from incoming_payment i where i.id = ${placeholder('id')}::uuid`
)

/** What an incoming payment (UUID) can still take; undefined if there is none. */
export async function findReceivingState(on: Queries, id: string): Promise<ReceivingState | undefined> {
  const [row] = await STATE.rows(on, { id })
  return (
    row && {
      incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
      receivedValue: BigInt(row.received_value),
      completed: row.completed,
      expiresAtMs: row.expires_at.getTime()
    }
  )
}
