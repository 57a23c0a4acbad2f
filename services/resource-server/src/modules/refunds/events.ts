import { placeholder, Statement } from '@open-payments-server/database'
import type { Refund } from '../../domain/refund.js'
import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import { readRefundRow, REFUND_COLUMNS, REFUND_JOINS, type RefundRow } from './row.js'

/** Fragment: selects the creation of the part `refunding`. */
export const refundCreatedEvents = Prisma.sql`
  select 'refund.created' as type, id as subject_id, null::json as change, created_at as occurred_at from refunding`

/** Fragment: selects the end of the refunds of the part `refunding`. */
export const refundEndedEvents = Prisma.sql`
  select 'refund.' || state as type, id as subject_id,
         json_build_object('state', state, 'settled_value', settled_value::text, 'returned_value', returned_value::text,
           'returned_fee_value', returned_fee_value::text, 'updated_at', updated_at) as change, updated_at as occurred_at
    from refunding`

/** The columns that change when a refund ends. */
type Change = Pick<
  RefundRow,
  'state' | 'settled_value' | 'returned_value' | 'returned_fee_value' | 'updated_at'
>

/** One statement over two tables: Prisma's models would send one for each table. */
const BY_ID = new Statement<RefundRow>(
  'get-told-refunds',
  Prisma.sql`select ${REFUND_COLUMNS} from refund f ${REFUND_JOINS} where f.id = any(${placeholder('ids')}::uuid[])`
)

/**
 * Reads refunds as they were when something happened to them.
 *
 * @returns the refund of each event, in their order; undefined for one that does not exist
 */
export async function readToldRefunds(
  on: Queries,
  events: readonly StoredEvent[]
): Promise<readonly (Refund | undefined)[]> {
  if (events.length === 0) return []
  const rows = await BY_ID.rows(on, { ids: [...new Set(events.map(({ subjectId }) => subjectId))] })
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  return events.map(({ subjectId, change }) => {
    const row = rowOf.get(subjectId)
    return row && readRefundRow({ ...row, ...((change as Change | undefined) ?? asCreated(row)) })
  })
}

function asCreated({ created_at }: RefundRow): Change {
  return {
    state: 'pending',
    settled_value: null,
    returned_value: null,
    returned_fee_value: '0',
    updated_at: created_at
  }
}
