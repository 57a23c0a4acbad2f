import type { FailureReason } from '../../domain/failure-reasons.js'
import type { OutgoingPayment, OutgoingPaymentState } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma } from '../database.js'
import { assetById } from '../ledger/index.js'
import { WALLET_ADDRESS } from '../wallet-addresses/index.js'

/** The columns of an {@link OutgoingPaymentRow}: `p` is the payment, joined by {@link OUTGOING_PAYMENT_JOINS}. */
export const OUTGOING_PAYMENT_COLUMNS = Prisma.sql`
  p.id, p.client, p.quote_id, p.receiver, p.debit_value::text, p.receive_value::text, p.state::text, p.failure_reason::text,
  p.settled_debit_value::text,   p.grant_spent_debit_value::text, p.grant_spent_receive_value::text, p.metadata, p.created_at, p.updated_at,
  w.path, s.code as debit_code, s.scale as debit_scale, ra.code as receive_code, ra.scale as receive_scale`

/** Joins the wallet address and the assets to the payments `p`: one row for each payment. */
export const OUTGOING_PAYMENT_JOINS = Prisma.sql`
  ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)}
  ${assetById(Prisma.sql`p.receive_asset_id`, Prisma.sql`ra`)}`

/** An outgoing payment as the database returns it: numbers of arbitrary size are text. */
export interface OutgoingPaymentRow {
  readonly id: string
  readonly client: string
  readonly quote_id: string | null
  readonly receiver: string
  readonly debit_value: string
  readonly receive_value: string
  readonly state: OutgoingPaymentState
  readonly failure_reason: FailureReason | null
  readonly settled_debit_value: string
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
    failureReason: row.failure_reason ?? undefined,
    settledDebitValue: BigInt(row.settled_debit_value),
    grantSpentDebitValue: BigInt(row.grant_spent_debit_value),
    grantSpentReceiveValue: BigInt(row.grant_spent_receive_value),
    metadata: row.metadata ?? undefined,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime()
  }
}
