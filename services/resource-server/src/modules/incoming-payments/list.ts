import { Prisma } from '../database.js'
import { createNewestPayments } from '../newest-payments.js'
import { createPaymentPages } from '../payment-pages.js'
import { LISTED_INCOMING_PAYMENT_COLUMNS, readListedIncomingPaymentRow, refundColumns } from './row.js'

/** Creates a function that lists the incoming payments of a wallet address. */
export const createIncomingPaymentList = createPaymentPages({
  name: 'incoming-payments',
  columns: LISTED_INCOMING_PAYMENT_COLUMNS,
  table: Prisma.sql`incoming_payment`,
  readRow: readListedIncomingPaymentRow
})

/** Lists the incoming payments of all wallet addresses, or of one, for operators, newest first. */
export const listNewestIncomingPayments = createNewestPayments({
  table: Prisma.sql`incoming_payment`,
  asked: Prisma.sql`p.incoming_value`,
  state: (now) =>
    Prisma.sql`case when p.completed then 'completed' when p.expires_at <= ${now}::timestamptz then 'expired' else 'pending' end`,
  columns: Prisma.sql`p.client, case when p.completed then 'completed' else 'pending' end as state, p.expires_at,
    null as failure_reason, p.incoming_value::text as value, p.received_value::text as moved_value, '' as receiver,
    ${refundColumns(Prisma.sql`p`)}, null as receive_code, null::integer as receive_scale`
})
