import type { FailureReason } from '../../domain/failure-reasons.js'
import type {
  ListedOutgoingPayment,
  OutgoingPayment,
  OutgoingPaymentState
} from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletAddress } from '../../domain/wallet-address.js'
import { Prisma } from '../database.js'
import { assetById } from '../ledger/index.js'
import { readShownRefunds, type RefundRow, shownRefunds } from '../refunds/index.js'
import { WALLET_ADDRESS } from '../wallet-addresses/index.js'

/** The columns of a {@link ListedOutgoingPaymentRow}: `p` is the payment, joined by {@link RECEIVE_ASSET}. */
export const LISTED_OUTGOING_PAYMENT_COLUMNS = Prisma.sql`
  p.id, p.quote_id, p.receiver, p.debit_value::text, p.receive_value::text, p.state::text, p.failure_reason::text,
  p.settled_debit_value::text, p.refund_of, p.refunded_value::text, p.metadata, p.created_at, p.updated_at, ra.code as receive_code, ra.scale as receive_scale`

/** Joins the receive asset to the payments `p`: one row for each payment. */
export const RECEIVE_ASSET = assetById(Prisma.sql`p.receive_asset_id`, Prisma.sql`ra`)

/** The columns of an {@link OutgoingPaymentRow}: `p` is the payment, joined by {@link OUTGOING_PAYMENT_JOINS}. */
export const OUTGOING_PAYMENT_COLUMNS = Prisma.sql`
  ${LISTED_OUTGOING_PAYMENT_COLUMNS}, p.client, p.grant_spent_debit_value::text, p.grant_spent_receive_value::text,
  case when p.refunded_value > 0 then ${shownRefunds('outgoing', Prisma.sql`p.id`)} end as refunds,
  w.path, s.code as debit_code, s.scale as debit_scale`

/** Joins the wallet address and the assets to the payments `p`: one row for each payment. */
export const OUTGOING_PAYMENT_JOINS = Prisma.sql`
  ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)} ${RECEIVE_ASSET}`

/** An outgoing payment of a list as the database returns it: numbers of arbitrary size are text. */
export interface ListedOutgoingPaymentRow {
  readonly id: string
  readonly quote_id: string | null
  readonly receiver: string
  readonly debit_value: string
  readonly receive_value: string
  readonly state: OutgoingPaymentState
  readonly failure_reason: FailureReason | null
  readonly settled_debit_value: string
  readonly refund_of: string | null
  readonly refunded_value: string
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly receive_code: string
  readonly receive_scale: number
}

/** An outgoing payment as the database returns it. */
export interface OutgoingPaymentRow extends ListedOutgoingPaymentRow {
  readonly client: string
  readonly grant_spent_debit_value: string
  readonly grant_spent_receive_value: string
  readonly refunds: readonly RefundRow[] | null
  readonly path: string
  readonly debit_code: string
  readonly debit_scale: number
}

/** Reads a row of a list of a wallet address. */
export function readListedOutgoingPaymentRow(
  row: ListedOutgoingPaymentRow,
  { url, asset }: Pick<WalletAddress, 'url' | 'asset'>
): ListedOutgoingPayment {
  return {
    id: row.id,
    walletAddressUrl: url,
    quoteId: row.quote_id ?? undefined,
    receiver: row.receiver,
    debitAsset: asset,
    debitValue: BigInt(row.debit_value),
    receiveAsset: { code: row.receive_code, scale: row.receive_scale },
    receiveValue: BigInt(row.receive_value),
    state: row.state,
    failureReason: row.failure_reason ?? undefined,
    settledDebitValue: BigInt(row.settled_debit_value),
    refundOf: row.refund_of ?? undefined,
    refundedValue: BigInt(row.refunded_value),
    refunds: [],
    metadata: row.metadata ?? undefined,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime()
  }
}

/** Reads a row. */
export function readOutgoingPaymentRow(row: OutgoingPaymentRow, urls: ResourceUrls): OutgoingPayment {
  const walletAddress = {
    url: urls.ofWalletAddress(row.path),
    asset: { code: row.debit_code, scale: row.debit_scale }
  }
  return {
    ...readListedOutgoingPaymentRow(row, walletAddress),
    client: row.client,
    grantSpentDebitValue: BigInt(row.grant_spent_debit_value),
    grantSpentReceiveValue: BigInt(row.grant_spent_receive_value),
    refunds: readShownRefunds(row.refunds)
  }
}
