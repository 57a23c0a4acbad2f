import { placeholder, Statement } from '@open-payments-server/database'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_JOINS,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from './row.js'

/** Fragment: selects the events of the part `payment` of `inserted`. Takes `now`. */
export const insertedEvents = Prisma.sql`
  select unnest(case when state::text = 'awaiting_approval'
                     then array['outgoing_payment.created', 'outgoing_payment.awaiting_approval']
                     else array['outgoing_payment.created'] end) as type,
         id as subject_id,
         case when state::text = 'awaiting_approval' then json_build_object('state', state) end as change,
         ${placeholder('now')}::timestamptz as occurred_at
    from payment`

/** Fragment: selects the events of the part `payment` of `approved`. */
export const approvedEvents = Prisma.sql`
  select 'outgoing_payment.processing' as type, id as subject_id,
         json_build_object('state', state, 'updated_at', updated_at) as change, updated_at as occurred_at
    from payment`

/** Fragment: selects the events of the part `progressed`: of these payments a part was delivered, and the rest is sent later. */
export const partiallySentEvents = Prisma.sql`
  select 'outgoing_payment.partially_sent' as type, id as subject_id,
         json_build_object('state', 'pending', 'updated_at', updated_at, 'settled_debit_value', settled_debit_value::text) as change,
         updated_at as occurred_at
    from progressed`

/** Fragment: selects the events of the part `payment` of `ended`. */
export const endedEvents = Prisma.sql`
  select 'outgoing_payment.' || state as type, id as subject_id,
         json_build_object('state', state, 'failure_reason', failure_reason, 'updated_at', updated_at,
           'settled_debit_value', settled_debit_value::text) as change, updated_at as occurred_at
    from payment`

/** Those columns that changed since the payment was created. */
type Change = Partial<Pick<OutgoingPaymentRow, 'state' | 'failure_reason' | 'settled_debit_value'>> & {
  readonly updated_at?: string
}

/** One statement over five tables: Prisma's models would send one for each table. */
const BY_ID = new Statement<OutgoingPaymentRow>(
  'get-told-outgoing-payments',
  Prisma.sql`select ${OUTGOING_PAYMENT_COLUMNS} from outgoing_payment p ${OUTGOING_PAYMENT_JOINS}
              where p.id = any(${placeholder('ids')}::uuid[])`
)

/**
 * Reads payments as they were when something happened to them: before there were refunds, which have events of their own.
 *
 * @returns the payment of each event, in their order; undefined for one that is no longer kept
 */
export async function readToldOutgoingPayments(
  on: Queries,
  events: readonly StoredEvent[],
  urls: ResourceUrls
): Promise<readonly (OutgoingPayment | undefined)[]> {
  if (events.length === 0) return []
  const rows = await BY_ID.rows(on, { ids: [...new Set(events.map(({ subjectId }) => subjectId))] })
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  return events.map(({ subjectId, change }) => {
    const row = rowOf.get(subjectId)
    const before = { refunded_value: '0', refunds: null }
    return row && readOutgoingPaymentRow({ ...row, ...before, ...changed(row, change) }, urls)
  })
}

function changed(
  { created_at }: OutgoingPaymentRow,
  change: Change | undefined
): Partial<OutgoingPaymentRow> {
  const created = { state: 'pending', failure_reason: null, settled_debit_value: '0' } as const
  const { updated_at } = change ?? {}
  return { ...created, ...change, updated_at: updated_at === undefined ? created_at : new Date(updated_at) }
}
