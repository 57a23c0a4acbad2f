import type { IncomingPayment, ListedIncomingPayment } from '../../domain/incoming-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletAddress } from '../../domain/wallet-address.js'
import { Prisma } from '../database.js'
import {
  readShownRefunds,
  refundedOfIncoming,
  refundedTo,
  type RefundRow,
  shownRefunds
} from '../refunds/index.js'
import { WALLET_ADDRESS } from '../wallet-addresses/index.js'

/**
 * Fragment: the columns that say what was refunded of an incoming payment, or by the payments to it: null where nothing was
 * received.
 *
 * @param payment names its row
 */
export function refundColumns(payment: Prisma.Sql): Prisma.Sql {
  const id = Prisma.sql`${payment}.id`
  return Prisma.sql`
    case when ${payment}.received_value > 0 then ${refundedOfIncoming(id)} end as refunded_value,
    case when ${payment}.received_value > 0 then ${refundedTo(id)} end as refund_of`
}

/**
 * Fragment: the column with the newest refunds of an incoming payment: null where nothing was received.
 *
 * @param payment names its row
 */
export function newestRefundsColumn(payment: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    case when ${payment}.received_value > 0 then ${shownRefunds('incoming', Prisma.sql`${payment}.id`)} end as refunds`
}

/** The columns of a {@link ListedIncomingPaymentRow}: `p` is the payment. */
export const LISTED_INCOMING_PAYMENT_COLUMNS = Prisma.sql`
  p.id, p.incoming_value::text, p.received_value::text, p.completed, p.expires_at, p.metadata, p.created_at, p.updated_at,
  ${refundColumns(Prisma.sql`p`)}`

/** The columns of an {@link IncomingPaymentRow}: `p` is the payment, `w` its wallet address, `s` its asset. */
export const INCOMING_PAYMENT_COLUMNS = Prisma.sql`
  ${LISTED_INCOMING_PAYMENT_COLUMNS},
  ${newestRefundsColumn(Prisma.sql`p`)}, p.client, w.path, s.code, s.scale`

/** Joins the wallet address and the asset to an incoming payment `p`. */
export const INCOMING_PAYMENT_JOINS = WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)

/** An incoming payment of a list as the database returns it: numbers of arbitrary size are text. */
export interface ListedIncomingPaymentRow {
  readonly id: string
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly created_at: Date
  readonly updated_at: Date
  /** Null where nothing was received. */
  readonly refunded_value: string | null
  readonly refund_of: string | null
}

/** An incoming payment as the database returns it. */
export interface IncomingPaymentRow extends ListedIncomingPaymentRow {
  readonly client: string
  readonly refunds: readonly RefundRow[] | null
  readonly path: string
  readonly code: string
  readonly scale: number
}

/** Reads a row of a list of a wallet address. */
export function readListedIncomingPaymentRow(
  row: ListedIncomingPaymentRow,
  { url, asset }: Pick<WalletAddress, 'url' | 'asset'>
): ListedIncomingPayment {
  return {
    id: row.id,
    walletAddressUrl: url,
    asset,
    incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
    receivedValue: BigInt(row.received_value),
    completed: row.completed,
    expiresAtMs: row.expires_at.getTime(),
    metadata: row.metadata ?? undefined,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime(),
    refundOf: row.refund_of ?? undefined,
    refundedValue: BigInt(row.refunded_value ?? 0),
    refunds: []
  }
}

/** Reads a row. */
export function readIncomingPaymentRow(row: IncomingPaymentRow, urls: ResourceUrls): IncomingPayment {
  const walletAddress = {
    url: urls.ofWalletAddress(row.path),
    asset: { code: row.code, scale: row.scale }
  }
  return {
    ...readListedIncomingPaymentRow(row, walletAddress),
    client: row.client,
    refunds: readShownRefunds(row.refunds)
  }
}
