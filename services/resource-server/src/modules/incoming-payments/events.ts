import { placeholder, Statement } from '@open-payments-server/database'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from './row.js'

/** Fragment: selects the events of the part `created`, payments that were just inserted. */
export const createdEvents = Prisma.sql`
  select 'incoming_payment.created' as type, id as subject_id, null::json as change, created_at as occurred_at
    from created`

/** Fragment: what may change of a payment. */
const CHANGE = Prisma.sql`
  json_build_object('received_value', received_value::text, 'completed', completed, 'updated_at', updated_at)`

/** Fragment: selects the events of the part `completed`, payments that were just completed. */
export const completedEvents = Prisma.sql`
  select 'incoming_payment.completed' as type, id as subject_id, ${CHANGE} as change, updated_at as occurred_at
    from completed`

/** Fragment: selects the events of the part `received`. Nothing is delivered to a completed payment: it was completed by this. */
export const receivedEvents = Prisma.sql`
  select unnest(case when completed then array['incoming_payment.received', 'incoming_payment.completed']
                     else array['incoming_payment.received'] end) as type,
         id as subject_id, ${CHANGE} as change, updated_at as occurred_at
    from received`

/** Fragment: selects the events of the payments of the part `due` that were not completed. */
export const expiredIncomingPaymentEvents = Prisma.sql`
  select 'incoming_payment.expired' as type, i.id as subject_id, ${CHANGE} as change, due.expires_at as occurred_at
    from due join incoming_payment i on i.id = due.subject_id
   where due.kind = 'incoming_payment' and not i.completed`

/** The columns of {@link CHANGE}. */
type Change = Pick<IncomingPaymentRow, 'received_value' | 'completed'> & { readonly updated_at: string }

/** One statement over four tables: Prisma's models would send one for each table. */
const BY_ID = new Statement<IncomingPaymentRow>(
  'get-told-incoming-payments',
  Prisma.sql`select ${INCOMING_PAYMENT_COLUMNS} from incoming_payment p ${INCOMING_PAYMENT_JOINS}
              where p.id = any(${placeholder('ids')}::uuid[])`
)

/**
 * Reads payments as they were when something happened to them, without refunds, which have events of their own.
 *
 * @returns the payment of each event, in their order; undefined for one that is no longer kept
 */
export async function readToldIncomingPayments(
  on: Queries,
  events: readonly StoredEvent[],
  urls: ResourceUrls
): Promise<readonly (IncomingPayment | undefined)[]> {
  if (events.length === 0) return []
  const rows = await BY_ID.rows(on, { ids: [...new Set(events.map(({ subjectId }) => subjectId))] })
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  return events.map(({ subjectId, change }) => {
    const row = rowOf.get(subjectId)
    const before = { refund_of: null, refunded_value: null, refunds: null }
    return (
      row &&
      readIncomingPaymentRow({ ...row, ...before, ...changed(row, change as Change | undefined) }, urls)
    )
  })
}

function changed(
  { created_at }: IncomingPaymentRow,
  change: Change | undefined
): Partial<IncomingPaymentRow> {
  if (change !== undefined) return { ...change, updated_at: new Date(change.updated_at) }
  return { received_value: '0', completed: false, updated_at: created_at }
}
