import { createLookup, placeholder, Statement } from '@open-payments-server/database'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { createNewestPayments } from '../newest-payments.js'
import { createPaymentPages } from '../payment-pages.js'
import {
  LISTED_OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_JOINS,
  type OutgoingPaymentRow,
  readListedOutgoingPaymentRow,
  readOutgoingPaymentRow,
  RECEIVE_ASSET
} from './row.js'

/** Reads outgoing payments. */
export interface OutgoingPaymentReader {
  /** Finds a payment by its id (UUID). */
  find(id: string): Promise<OutgoingPayment | undefined>
}

/** One statement over five tables for all that arrive together: Prisma's models would send one for each table. */
const BY_ID = new Statement<OutgoingPaymentRow>(
  'get-outgoing-payments',
  Prisma.sql`select ${OUTGOING_PAYMENT_COLUMNS} from outgoing_payment p ${OUTGOING_PAYMENT_JOINS}
              where p.id = any(${placeholder('ids')}::uuid[])`
)

/** Reads outgoing payments, batching concurrent reads into one statement. */
export function createOutgoingPaymentReader(dependencies: {
  database: Queries
  urls: ResourceUrls
}): OutgoingPaymentReader {
  const lookUp = createLookup((ids) => BY_ID.rows(dependencies.database, { ids }))
  return {
    async find(id) {
      const row = await lookUp(id)
      return row && readOutgoingPaymentRow(row, dependencies.urls)
    }
  }
}

/** What operators see of a payment besides what its client does. */
export interface PaymentDetails {
  /** Id (UUID). */
  readonly grantId: string
  readonly feeValue: bigint
  /** What the receiver got, in the receive asset. */
  readonly settledReceiveValue: bigint
}

const DETAILS = new Statement<{
  readonly grant_id: string
  readonly fee_value: string
  readonly settled_receive_value: string
}>(
  'get-payment-details',
  Prisma.sql`select grant_id, fee_value::text, settled_receive_value::text from outgoing_payment
              where id = ${placeholder('id')}::uuid`,
  { prepared: false }
)

/** Finds the details of a payment by its id (UUID). */
export async function findPaymentDetails(on: Queries, id: string): Promise<PaymentDetails | undefined> {
  const [row] = await DETAILS.rows(on, { id })
  return (
    row && {
      grantId: row.grant_id,
      feeValue: BigInt(row.fee_value),
      settledReceiveValue: BigInt(row.settled_receive_value)
    }
  )
}

const MISSING = new Statement<{ readonly id: string }>(
  'find-missing-payments',
  Prisma.sql`
  select asked.id from unnest(${placeholder('ids')}::uuid[]) as asked (id)
   where not exists (select 1 from outgoing_payment p where p.id = asked.id)`,
  { prepared: false }
)

/** Those of some ids (UUID) that no payment has. */
export async function findMissingPayments(on: Queries, ids: readonly string[]): Promise<readonly string[]> {
  return (await MISSING.rows(on, { ids })).map(({ id }) => id)
}

/** Creates a function that lists the outgoing payments of a wallet address. */
export const createOutgoingPaymentList = createPaymentPages({
  name: 'outgoing-payments',
  columns: LISTED_OUTGOING_PAYMENT_COLUMNS,
  table: Prisma.sql`outgoing_payment`,
  joins: RECEIVE_ASSET,
  readRow: readListedOutgoingPaymentRow
})

/** Lists the outgoing payments of all wallet addresses, or of one, for operators, newest first. */
export const listNewestOutgoingPayments = createNewestPayments({
  table: Prisma.sql`outgoing_payment`,
  asked: Prisma.sql`p.debit_value`,
  state: () => Prisma.sql`p.state::text`,
  columns: Prisma.sql`p.client, p.state::text, null::timestamptz as expires_at, p.failure_reason::text,
    p.debit_value::text as value, p.settled_debit_value::text as moved_value, p.receiver, p.refunded_value::text, p.refund_of,
    ra.code as receive_code, ra.scale as receive_scale`,
  joins: RECEIVE_ASSET
})

/** Whether any payment used a quote. */
export async function isQuoteUsed(on: Queries, quoteId: string): Promise<boolean> {
  return (await on.outgoingPayment.findUnique({ where: { quoteId }, select: { id: true } })) !== null
}

/**
 * Fragment: joins the payment `used` that used a quote, if there is one.
 *
 * @param quoteId names the quote's id
 * @param ids an array that it is among: the payments are looked up by it
 */
export function paymentOfQuote(quoteId: Prisma.Sql, ids: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`left join outgoing_payment used on used.quote_id = ${quoteId} and used.quote_id = any(${ids})`
}

/**
 * Fragment, a condition: whether a payment used a quote, which `quoteId` names. Looked up for each: from `exists`, PostgreSQL may
 * make a hash of all payments.
 */
export function isPaidFrom(quoteId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select true from outgoing_payment p where p.quote_id = ${quoteId} limit 1) is not null`
}
