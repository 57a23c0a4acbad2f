import { createKeyset, type KeysetList, placeholder } from '@open-payments-server/database'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import type { FoundPage, PageRequest } from '../../domain/pagination.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { createNewestPayments } from '../newest-payments.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from './row.js'

const LIST = {
  columns: INCOMING_PAYMENT_COLUMNS,
  table: Prisma.sql`incoming_payment`,
  joins: INCOMING_PAYMENT_JOINS
}
const OF_WALLET_ADDRESS = Prisma.sql`p.wallet_address_id = ${placeholder('walletAddressId')}::uuid`
const ALL: KeysetList = { ...LIST, name: 'list-incoming-payments', where: OF_WALLET_ADDRESS }
const OWN: KeysetList = {
  ...LIST,
  name: 'list-own-incoming-payments',
  where: Prisma.sql`${OF_WALLET_ADDRESS} and p.client = ${placeholder('client')}`
}

/**
 * Creates a function that lists the incoming payments of a wallet address, newest first, with one statement.
 *
 * @returns lists a page; if a client is given, only what it created
 */
export function listIncomingPayments(dependencies: {
  database: Queries
  urls: ResourceUrls
}): (
  walletAddressId: string,
  client: string | undefined,
  page: PageRequest
) => Promise<FoundPage<IncomingPayment>> {
  const all = createKeyset<IncomingPaymentRow>(dependencies.database, ALL)
  const own = createKeyset<IncomingPaymentRow>(dependencies.database, OWN)
  return async (walletAddressId, client, page) => {
    const { rows, hasOpposite } = await (client === undefined
      ? all({ walletAddressId }, page)
      : own({ walletAddressId, client }, page))
    return { rows: rows.map((row) => readIncomingPaymentRow(row, dependencies.urls)), hasOpposite }
  }
}

/** Lists the incoming payments of all wallet addresses, or of one, for operators, newest first. */
export const listNewestIncomingPayments = createNewestPayments({
  table: Prisma.sql`incoming_payment`,
  columns: Prisma.sql`case when p.completed then 'completed' else 'pending' end as state, p.expires_at,
    null as failure_reason, p.incoming_value::text as value, p.received_value::text as moved_value, '' as receiver`
})
