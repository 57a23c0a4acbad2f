import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/** A transfer to be written, posted. */
export interface PostedTransfer {
  /** Id (UUID). */
  readonly id: string
  readonly kind: 'fee' | 'delivery' | 'conversion' | 'receipt' | 'receipt_conversion'
  /** Id (UUID) of the outgoing payment, or of the packet. */
  readonly paymentId: string
  readonly debitAccountId: string
  readonly creditAccountId: string
  readonly assetId: number
  readonly amount: bigint
  /** Id (UUID) of the incoming payment, where it credits the receiver; undefined where it credits the provider. */
  readonly incomingPaymentId: string | undefined
}

/** The change of the totals of an account of a wallet or a peer: netted, one per account. */
export interface AccountTotals {
  /** Id (UUID). */
  readonly accountId: string
  readonly debitsPending: bigint
  readonly debitsPosted: bigint
  readonly creditsPosted: bigint
}

/**
 * Fragment: writes transfers, and changes the totals of accounts as they demand. Takes `now` and what {@link movements} returns. The
 * part `moved` has a row for each transfer of `movement`, and `total` one for each account of `change` whose totals changed.
 *
 * Every account is locked, in the order of ids, before the first is changed: an update would lock them in arbitrary order.
 * They are looked up by "any (array": a plan that was made while the tables were small, and that a connection keeps, would
 * join them by reading a whole index.
 */
export const moved = Prisma.sql`
  movement as (
    select * from json_to_recordset(${placeholder('transfers')}::json)
      as m(id uuid, kind transfer_kind, payment_id uuid, debit_account_id uuid, debit_account_kind account_kind,
           credit_account_id uuid, credit_account_kind account_kind, asset_id integer, amount numeric, incoming_payment_id uuid)
  ), moved as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, posted_amount, incoming_payment_id, created_at, ended_at)
    select id, kind, 'posted', payment_id, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind,
           asset_id, amount, amount, incoming_payment_id, ${placeholder('now')}::timestamptz, ${placeholder('now')}::timestamptz
      from movement
    returning 1
  ), change as (
    select * from json_to_recordset(${placeholder('totals')}::json)
      as c(id uuid, debits_pending numeric, debits_posted numeric, credits_posted numeric)
  ), locked as (
    select id from account where id = any (array(select id from change)) order by id for no key update
  ), total as (
    update account a
       set debits_pending = a.debits_pending + c.debits_pending, debits_posted = a.debits_posted + c.debits_posted,
           credits_posted = a.credits_posted + c.credits_posted
      from change c
     where a.id = c.id and a.id = any (array(select id from locked)) returning 1
  )`

/**
 * Fragment: ends the holds of payments, posting what was sent and returning the rest, and writes the transfers that carry
 * it on, as {@link moved} does. Reads the part `ending` (`id` of the payment, `settled_debit_value`), and takes `now`. The part `hold`
 * has a row for each hold that ended.
 */
export const posted = Prisma.sql`
  hold as (
    update transfer t
       set state = case when e.settled_debit_value > 0 then 'posted' else 'voided' end::transfer_state,
           posted_amount = nullif(e.settled_debit_value, 0), ended_at = ${placeholder('now')}::timestamptz
      from ending e
     where t.id = e.id and t.id = any (array(select id from ending)) and t.state = 'pending' returning 1
  ), ${moved}`

/** The parameters of {@link moved}, except `now`. Numbers of arbitrary size are sent as text. */
export function movements(
  transfers: readonly PostedTransfer[],
  totals: readonly AccountTotals[]
): { readonly transfers: string; readonly totals: string } {
  return {
    transfers: JSON.stringify(
      transfers.map((transfer) => ({
        id: transfer.id,
        kind: transfer.kind,
        payment_id: transfer.paymentId,
        debit_account_id: transfer.debitAccountId,
        debit_account_kind: DEBITED[transfer.kind],
        credit_account_id: transfer.creditAccountId,
        credit_account_kind: creditedBy(transfer),
        asset_id: transfer.assetId,
        amount: transfer.amount.toString(),
        incoming_payment_id: transfer.incomingPaymentId
      }))
    ),
    totals: JSON.stringify(
      totals.map((change) => ({
        id: change.accountId,
        debits_pending: change.debitsPending.toString(),
        debits_posted: change.debitsPosted.toString(),
        credits_posted: change.creditsPosted.toString()
      }))
    )
  }
}

/** The kind of account that a transfer takes from. */
const DEBITED = {
  fee: 'clearing',
  delivery: 'clearing',
  conversion: 'exchange',
  receipt: 'peer_receivable',
  receipt_conversion: 'exchange'
} as const satisfies Readonly<Record<PostedTransfer['kind'], string>>

/** The kind of account that a transfer gives to. */
function creditedBy({ kind, incomingPaymentId }: PostedTransfer): string {
  if (kind === 'fee') return 'fees'
  return incomingPaymentId === undefined ? 'exchange' : 'wallet'
}

/**
 * Fragment, a condition: whether anything was delivered to an incoming payment, which `incomingPaymentId` names. Looked up for
 * each: from `exists`, PostgreSQL may make a hash of all transfers.
 */
export function hasDelivery(incomingPaymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select true from transfer t where t.incoming_payment_id = ${incomingPaymentId} limit 1) is not null`
}

/**
 * Fragment: joins the transfer `received` (`incoming_payment_id`) that brought what a payment delivered to its receiver, if there
 * is one.
 *
 * @param paymentId names the payment's id
 */
export function deliveredBy(paymentId: Prisma.Sql): Prisma.Sql {
  // Looked up for each: for a join, PostgreSQL may read all transfers while they are few, and keep that plan.
  return Prisma.sql`left join lateral (
    select t.incoming_payment_id from transfer t
     where t.payment_id = ${paymentId} and t.incoming_payment_id is not null limit 1) received on true`
}
