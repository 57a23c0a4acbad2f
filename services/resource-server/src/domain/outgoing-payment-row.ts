import type { OutgoingPayment, OutgoingPaymentState } from './outgoing-payment.js'
import type { ResourceUrls } from './resource-urls.js'

/**
 * The columns that an {@link OutgoingPaymentRow} is made of. Belongs behind `select`, before
 * {@link OUTGOING_PAYMENT_TABLES}.
 */
export const OUTGOING_PAYMENT_COLUMNS = `
  p.id, p.client, p.quote_id, p.receiver, p.debit_value, p.receive_value, p.state, p.sent_value,
  p.grant_spent_debit_value, p.grant_spent_receive_value, p.metadata, p.created_at, p.updated_at,
  w.path, da.code as debit_code, da.scale as debit_scale, ra.code as receive_code, ra.scale as receive_scale`

/** What joins the tables that {@link OUTGOING_PAYMENT_COLUMNS} come from to the payments `p`: one row of each for each payment. */
export const OUTGOING_PAYMENT_JOINS = `
  join wallet_address w on w.id = p.wallet_address_id
  join account a on a.id = w.account_id
  join asset da on da.id = a.asset_id
  join asset ra on ra.id = p.receive_asset_id`

/** The tables that {@link OUTGOING_PAYMENT_COLUMNS} come from, `p` being the payment. */
export const OUTGOING_PAYMENT_TABLES = `outgoing_payment p ${OUTGOING_PAYMENT_JOINS}`

/** An outgoing payment as the database returns it: numbers of arbitrary size are text. */
export interface OutgoingPaymentRow {
  readonly id: string
  readonly client: string
  readonly quote_id: string | null
  readonly receiver: string
  readonly debit_value: string
  readonly receive_value: string
  readonly state: OutgoingPaymentState
  readonly sent_value: string
  readonly grant_spent_debit_value: string
  readonly grant_spent_receive_value: string
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly path: string
  readonly debit_code: string
  readonly debit_scale: number
  readonly receive_code: string
  readonly receive_scale: number
}

/** Reads a row. */
export function readOutgoingPaymentRow(row: OutgoingPaymentRow, urls: ResourceUrls): OutgoingPayment {
  return {
    id: row.id,
    walletAddressUrl: urls.ofWalletAddress(row.path),
    client: row.client,
    quoteId: row.quote_id ?? undefined,
    receiver: row.receiver,
    debitAsset: { code: row.debit_code, scale: row.debit_scale },
    debitValue: BigInt(row.debit_value),
    receiveAsset: { code: row.receive_code, scale: row.receive_scale },
    receiveValue: BigInt(row.receive_value),
    state: row.state,
    sentValue: BigInt(row.sent_value),
    grantSpentDebitValue: BigInt(row.grant_spent_debit_value),
    grantSpentReceiveValue: BigInt(row.grant_spent_receive_value),
    metadata: row.metadata ?? undefined,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime()
  }
}
