import { bytesText, instantText, placeholder } from '@open-payments-server/database'
import { snakeCase } from '@open-payments-server/runtime'
import type { RequestCause } from '../../domain/given-up.js'
import type { PaymentTerms } from '../../domain/outgoing-payment.js'
import { Prisma } from '../database.js'
import type { RefundByPayment } from '../refunds/index.js'

/** A payment to be persisted. */
export interface NewPayment {
  /** Id (UUID), under which its amounts are reserved. */
  readonly id: string
  /** Id (UUID) of the signed request. */
  readonly signatureId: string
  readonly requestHash: Buffer
  readonly walletAddressId: string
  /** Id (UUID) of the sender's account. */
  readonly accountId: string
  readonly client: string
  /** Id (UUID) of the grant. */
  readonly grantId: string
  readonly terms: PaymentTerms
  /** What it refunds; undefined unless it is a refund. */
  readonly refund: RefundByPayment | undefined
  readonly grantSpentDebitValue: bigint
  readonly grantSpentReceiveValue: bigint
  /** The instant that its reservation was charged at, in milliseconds since the Unix epoch. */
  readonly chargedAtMs: number
  /** Why its id is given up if its receiver cannot take it. */
  readonly unpayableCause: RequestCause
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/**
 * Fragment: the part `asked`, payments that are to be persisted, as {@link wantedPayments} returns them. Its columns are
 * those of {@link inserted}, plus `charged_at`, `account_id` and `incoming_payment_id`, where the money comes from and goes to, and
 * `given_up_cause`, why its id is given up if it is not payable.
 */
export const wanted = Prisma.sql`
  asked as (
    select *
      from json_to_recordset(${placeholder('payments')}::json)
        as n(id uuid, signature_id uuid, request_hash bytea, wallet_address_id uuid, account_id uuid, client text,
             grant_id uuid, quote_id uuid, refund_of uuid, incoming_payment_id uuid, receiver text, debit_value numeric, fee_value numeric,
             receive_value numeric, receive_asset_id integer, metadata jsonb, grant_spent_debit_value numeric,
             grant_spent_receive_value numeric, charged_at timestamptz, given_up_cause text, peer_id uuid, send_max_value numeric,
             fixed_fee_value numeric, begin_until timestamptz)
  )`

/**
 * Fragment: the part `payment` (`id`, `metadata`, `state`), which inserts those of the part `wanted` that are `payable`. One with
 * an `approval_rule_id` awaits approval. A payment is left out if its id, signed request or quote is taken, also by an earlier one of the batch. Two requests may claim the
 * same, so they are inserted in one order, by quote, then id, to avoid deadlocks. Takes `now`.
 */
export const inserted = Prisma.sql`
  payment as (
    insert into outgoing_payment (id, signature_id, request_hash, wallet_address_id, client, grant_id, quote_id, refund_of, receiver,
      debit_value, fee_value, receive_value, receive_asset_id, state, metadata, grant_spent_debit_value,
      grant_spent_receive_value, created_at, updated_at, peer_id, send_max_value, fixed_fee_value, begin_until)
    select id, signature_id, request_hash, wallet_address_id, client, grant_id, quote_id, refund_of, receiver,
      debit_value, fee_value, receive_value, receive_asset_id,
      case when approval_rule_id is null then 'pending' else 'awaiting_approval' end::outgoing_payment_state, metadata, grant_spent_debit_value,
      grant_spent_receive_value, ${placeholder('now')}::timestamptz, ${placeholder('now')}::timestamptz, peer_id, send_max_value,
      fixed_fee_value, begin_until
      from wanted where payable order by quote_id, id
    on conflict do nothing
    returning id, metadata, state
  )`

/** The payments of {@link wanted}. Numbers of arbitrary size are sent as text. */
export function wantedPayments(payments: readonly NewPayment[]): { readonly payments: string } {
  return { payments: JSON.stringify(payments.map(toRecord)) }
}

function toRecord(payment: NewPayment): object {
  const { amounts, receiver, quoteId, sending, beginUntilMs } = payment.terms
  return {
    id: payment.id,
    signature_id: payment.signatureId,
    request_hash: bytesText(payment.requestHash),
    wallet_address_id: payment.walletAddressId,
    account_id: payment.accountId,
    client: payment.client,
    grant_id: payment.grantId,
    quote_id: quoteId,
    refund_of: payment.refund?.refundOf,
    incoming_payment_id: receiver.incomingPaymentId,
    receiver: receiver.url,
    debit_value: amounts.debitValue.toString(),
    fee_value: amounts.feeValue.toString(),
    receive_value: amounts.receiveValue.toString(),
    receive_asset_id: receiver.assetId,
    metadata: payment.metadata,
    grant_spent_debit_value: payment.grantSpentDebitValue.toString(),
    grant_spent_receive_value: payment.grantSpentReceiveValue.toString(),
    charged_at: instantText(payment.chargedAtMs),
    given_up_cause: snakeCase(payment.unpayableCause),
    peer_id: sending?.peerId,
    send_max_value: sending?.sendMaxValue.toString(),
    fixed_fee_value: sending?.fixedFeeValue.toString() ?? '0',
    begin_until: beginUntilMs === undefined ? undefined : instantText(beginUntilMs)
  }
}
