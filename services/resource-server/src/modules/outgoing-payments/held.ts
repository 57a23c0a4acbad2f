import { instantText } from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { ListedOutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { WALLET_ADDRESS, walletAddressAt, walletAddressesOf } from '../wallet-addresses/index.js'
import {
  LISTED_OUTGOING_PAYMENT_COLUMNS,
  type ListedOutgoingPaymentRow,
  readListedOutgoingPaymentRow,
  RECEIVE_ASSET
} from './row.js'

/** A payment as the holder of its wallet address sees it. */
export interface HeldPayment extends ListedOutgoingPayment {
  /** The client that created it; see `nameClient`. */
  readonly client: string
  /** Id (UUID). */
  readonly grantId: string
  /** What the receiver really got, in the receive asset. */
  readonly settledReceiveValue: bigint
}

/** Which payments of a holder are listed. */
export interface HeldPaymentRange {
  /** From all wallet addresses of these accounts (UUID), or from the one with this path. */
  readonly from: { readonly accountIds: readonly string[] } | { readonly path: string }
  /** Id (UUID): only those under this grant; undefined for those under all. */
  readonly grantId: string | undefined
  /** Only those created from this instant on, in milliseconds since the Unix epoch; undefined for no bound. */
  readonly fromMs: number | undefined
  /** Only those created before this instant; undefined for no bound. */
  readonly untilMs: number | undefined
  /** Only older ones than at this position; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
}

interface Row extends ListedOutgoingPaymentRow {
  readonly client: string
  readonly grant_id: string
  readonly settled_receive_value: string
  readonly path: string
  readonly code: string
  readonly scale: number
}

/**
 * Lists payments from wallet addresses, newest first. Of each wallet address, no more is read than a page has: an index of wallet
 * address, or grant and wallet address, and time has them in this order. Planned anew for each range. The inner limit is a query, whose
 * result the planner does not know: it takes a wallet address for an average one, and would read and sort all of one that has many.
 */
export async function listHeldPayments(
  on: Queries,
  range: HeldPaymentRange,
  urls: ResourceUrls
): Promise<readonly HeldPayment[]> {
  const rows = await on.$queryRaw<Row[]>(selectHeld(range))
  return rows.map((row) => {
    const walletAddress = { url: urls.ofWalletAddress(row.path), asset: { code: row.code, scale: row.scale } }
    return {
      ...readListedOutgoingPaymentRow(row, walletAddress),
      client: row.client,
      grantId: row.grant_id,
      settledReceiveValue: BigInt(row.settled_receive_value)
    }
  })
}

function selectHeld({ from, grantId, fromMs, untilMs, after, limit }: HeldPaymentRange): Prisma.Sql {
  const walletAddresses =
    'path' in from
      ? walletAddressAt(Prisma.sql`${from.path}`)
      : walletAddressesOf(Prisma.sql`${[...from.accountIds]}::uuid[]`)
  const conditions = [
    Prisma.sql`o.wallet_address_id = held.id`,
    ...(grantId === undefined ? [] : [Prisma.sql`o.grant_id = ${grantId}::uuid`]),
    ...(fromMs === undefined ? [] : [Prisma.sql`o.created_at >= ${instantText(fromMs)}::timestamptz`]),
    ...(untilMs === undefined ? [] : [Prisma.sql`o.created_at < ${instantText(untilMs)}::timestamptz`]),
    ...(after === undefined ? [] : [beyond(after)])
  ]
  return Prisma.sql`
    select ${LISTED_OUTGOING_PAYMENT_COLUMNS}, p.client, p.grant_id, p.settled_receive_value::text, w.path, s.code, s.scale
      from (select page.*
              from (${walletAddresses}) held (id)
              cross join lateral (
                select * from outgoing_payment o where ${Prisma.join(conditions, ' and ')}
                 order by o.created_at desc, o.id desc limit (select ${limit}::integer)) page
             order by page.created_at desc, page.id desc limit ${limit}::integer) p
      ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)} ${RECEIVE_ASSET}
     order by p.created_at desc, p.id desc`
}

function beyond({ createdAtMs, id }: PageEnd): Prisma.Sql {
  return Prisma.sql`(o.created_at, o.id) < (${instantText(createdAtMs)}::timestamptz, ${id}::uuid)`
}
