import { placeholder, Statement } from '@open-payments-server/database'
import type { OutgoingPaymentState } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { walletAddressOf } from '../incoming-payments/index.js'
import { accountById, deliveredBy } from '../ledger/index.js'
import { accountOf, pathOf } from '../wallet-addresses/index.js'

/**
 * Fragment: the part `original`, ended payments whose delivery is refunded, locked in the order of their ids: so of refunds of one
 * payment each knows all before it. "for no key update" reads the latest commit, while the rest of the statement sees its snapshot:
 * a payment that had not ended then has no delivery there, and is left alone. What a failed refund gave back while the lock was
 * waited for still counts as refunded: PostgreSQL checks the constraints of an updated row first as the snapshot has it.
 *
 * @param ids an array of ids; the expression is evaluated before the first lock
 */
export function lockedOriginals(ids: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  original as (
    select p.id, p.settled_receive_value, p.provider_refunded_value,
           greatest(p.refunded_value, (select seen.refunded_value from outgoing_payment seen where seen.id = p.id)) as refunded_value
      from outgoing_payment p
     where p.id = any (${ids}) and p.state::text not in ('pending', 'awaiting_approval')
     order by p.id for no key update
  )`
}

/**
 * Fragment, an expression: the state of a payment; null if there is none.
 *
 * @param paymentId names the payment's id
 */
export function stateOf(paymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select p.state::text from outgoing_payment p where p.id = ${paymentId})`
}

/**
 * Fragment, an expression: whether the receiver of a payment is hosted elsewhere; null if there is none.
 *
 * @param paymentId names the payment's id
 */
export function isElsewhere(paymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select p.peer_id is not null from outgoing_payment p where p.id = ${paymentId})`
}

/**
 * Fragment, a condition: whether the part `original` of {@link lockedOriginals} has so much left to refund.
 *
 * @param payment.id names the refunded payment, and `payment.value` the value, in its receive asset
 */
export function canRefund(payment: { readonly id: Prisma.Sql; readonly value: Prisma.Sql }): Prisma.Sql {
  return Prisma.sql`exists (
    select 1 from original
     where original.id = ${payment.id} and original.refunded_value + ${payment.value} <= original.settled_receive_value)`
}

/** Fragment: counts the refund of the part `refunding` (`refund_of`, `value`, `payment_id`), whose payment is locked. Takes `now`. */
export const refundCounted = Prisma.sql`
  counted as (
    update outgoing_payment p
       set refunded_value = p.refunded_value + f.value,
           provider_refunded_value = p.provider_refunded_value + case when f.payment_id is null then f.value else 0 end,
           updated_at = greatest(p.updated_at, ${placeholder('now')}::timestamptz)
      from refunding f
     where p.id = f.refund_of and p.id = any (array(select refund_of from refunding))
  )`

/**
 * Fragment: gives back what the refunds of the part `refunding` (`refund_of`, `given_back`) did not take. The part `counted` has a
 * row for each payment of `original`, whose rows are locked. Takes `now`.
 */
export const refundsGivenBack = Prisma.sql`
  counted as (
    update outgoing_payment p
       set refunded_value = p.refunded_value - total.given_back, updated_at = greatest(p.updated_at, ${placeholder('now')}::timestamptz)
      from (select refund_of, sum(given_back) as given_back from refunding group by refund_of) total
     where p.id = total.refund_of and p.id = any (array(select id from original))
    returning 1
  )`

/** A payment that may be refunded. */
export interface RefundablePayment {
  /** Id (UUID). */
  readonly id: string
  readonly state: OutgoingPaymentState
  /** What it delivered, in its receive asset, and what of it was refunded, or is being refunded. */
  readonly deliveredValue: bigint
  readonly refundedValue: bigint
  /** Ids (UUID) of the wallet addresses that paid and received; the second is undefined if it delivered nothing. */
  readonly payerWalletAddressId: string
  readonly receiverWalletAddressId: string | undefined
  /** Id (UUID) of the incoming payment that it was delivered to; undefined if it delivered nothing. */
  readonly incomingPaymentId: string | undefined
  /** Ids of the assets. */
  readonly debitAssetId: number
  readonly receiveAssetId: number
  /** Id (UUID) of the wallet address of the incoming payment that is to be paid by the refund; undefined if there is none. */
  readonly returnedToWalletAddressId: string | undefined
}

interface RefundableRow {
  readonly id: string
  readonly state: OutgoingPaymentState
  readonly settled_receive_value: string
  readonly refunded_value: string
  readonly wallet_address_id: string
  readonly receiver_wallet_address_id: string | null
  readonly incoming_payment_id: string | null
  readonly asset_id: number
  readonly receive_asset_id: number
  readonly returned_to_wallet_address_id: string | null
}

const REFUNDABLE = new Statement<RefundableRow>(
  'find-refundable-payment',
  Prisma.sql`
  select p.id, p.state::text, p.settled_receive_value::text, p.refunded_value::text, p.wallet_address_id, p.receive_asset_id,
         a.asset_id, received.incoming_payment_id,
         ${walletAddressOf(Prisma.sql`received.incoming_payment_id`)} as receiver_wallet_address_id,
         ${walletAddressOf(Prisma.sql`${placeholder('returnedTo')}::uuid`)} as returned_to_wallet_address_id
    from outgoing_payment p
    ${accountOf(Prisma.sql`p.wallet_address_id`)}
    ${accountById(Prisma.sql`w.account_id`)}
    ${deliveredBy(Prisma.sql`p.id`)}
   where p.id = ${placeholder('id')}::uuid`
)

/**
 * Finds what a client's payment wants to refund.
 *
 * @param id of the payment to refund (UUID)
 * @param returnedTo id (UUID) of the incoming payment that the refund pays
 */
export async function findRefundable(
  on: Queries,
  { id, returnedTo }: { readonly id: string; readonly returnedTo: string }
): Promise<RefundablePayment | undefined> {
  const [row] = await REFUNDABLE.rows(on, { id, returnedTo })
  return (
    row && {
      id: row.id,
      state: row.state,
      deliveredValue: BigInt(row.settled_receive_value),
      refundedValue: BigInt(row.refunded_value),
      payerWalletAddressId: row.wallet_address_id,
      receiverWalletAddressId: row.receiver_wallet_address_id ?? undefined,
      incomingPaymentId: row.incoming_payment_id ?? undefined,
      debitAssetId: row.asset_id,
      receiveAssetId: row.receive_asset_id,
      returnedToWalletAddressId: row.returned_to_wallet_address_id ?? undefined
    }
  )
}

const SIDES = new Statement<{
  readonly id: string
  readonly payer: string
  readonly receiver: string | null
}>(
  'get-payment-sides',
  Prisma.sql`
  select p.id, ${pathOf(Prisma.sql`p.wallet_address_id`)} as payer,
         ${pathOf(walletAddressOf(Prisma.sql`received.incoming_payment_id`))} as receiver
    from outgoing_payment p ${deliveredBy(Prisma.sql`p.id`)}
   where p.id = any(${placeholder('ids')}::uuid[])`
)

/**
 * Reads which wallet addresses paid and received.
 *
 * @param ids of payments (UUID)
 * @returns their URLs, by the id of the payment
 */
export async function readSides(
  on: Queries,
  ids: readonly string[],
  urls: Pick<ResourceUrls, 'ofWalletAddress'>
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (ids.length === 0) return new Map()
  const rows = await SIDES.rows(on, { ids: [...new Set(ids)] })
  return new Map(
    rows.map(({ id, payer, receiver }) => [
      id,
      [payer, receiver].flatMap((path) => path ?? []).map(urls.ofWalletAddress)
    ])
  )
}
