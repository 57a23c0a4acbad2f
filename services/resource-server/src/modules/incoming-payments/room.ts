import { placeholder } from '@open-payments-server/database'
import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { Prisma } from '../database.js'
import { accountOf, isFrozenAddress } from '../wallet-addresses/index.js'

/** Maximum that an open payment may receive: {@link UINT64_MAX}, as PostgreSQL reads it. */
const LARGEST = Prisma.raw(UINT64_MAX.toString())

/**
 * Fragment, a condition: whether an incoming payment is neither completed nor expired.
 *
 * @param payment names its row
 * @param now names the instant
 */
export function isOpen(payment: Prisma.Sql, now: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`not ${payment}.completed and ${payment}.expires_at > ${now}`
}

/**
 * Fragment, a condition: whether an incoming payment can take a value now. The same rule as `remainingRoom` of the domain:
 * it is open, and has room for the whole value. And neither its wallet address nor the account of that is frozen.
 *
 * @param payment.id names its id; null means no payment, which can take nothing
 * @param payment.value names the value, in units of its asset
 * @param payment.now names the instant
 */
export function canTake({
  id,
  value,
  now
}: {
  id: Prisma.Sql
  value: Prisma.Sql
  now: Prisma.Sql
}): Prisma.Sql {
  return Prisma.sql`exists (
    select 1 from incoming_payment i
     where i.id = ${id} and ${isOpen(Prisma.sql`i`, now)}
       and i.received_value + ${value} <= coalesce(i.incoming_value, ${LARGEST})
       and not ${isFrozenAddress(Prisma.sql`i.wallet_address_id`)})`
}

/** Fragment, a condition: whether the incoming payment with an id is neither completed nor expired. */
export function canGoOn({ id, now }: { id: Prisma.Sql; now: Prisma.Sql }): Prisma.Sql {
  return Prisma.sql`coalesce((
    select ${isOpen(Prisma.sql`i`, now)} from incoming_payment i where i.id = ${id}), false)`
}

/** Fragment, a condition: whether the incoming payment with an id is one of a frozen wallet address or account. */
export function isFrozenReceiver(id: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`coalesce((
    select ${isFrozenAddress(Prisma.sql`i.wallet_address_id`)} from incoming_payment i where i.id = ${id}), false)`
}

/** Fragment: selects which of the incoming payments with `paymentIds` (UUID), which it takes, are those of a frozen wallet address or account. */
export const frozenReceivers = Prisma.sql`
  select one.id from unnest(${placeholder('paymentIds')}::uuid[]) as one (id) where ${isFrozenReceiver(Prisma.sql`one.id`)}`

/**
 * Fragment: the wallet address of an incoming payment; null if there is no such payment.
 *
 * @param id names its id
 */
export function walletAddressOf(id: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select i.wallet_address_id from incoming_payment i where i.id = ${id})`
}

/** An incoming payment whose row is locked. */
export interface LockedReceiver {
  /** Id (UUID). */
  readonly id: string
  /** Id (UUID) of the receiver's account. */
  readonly accountId: string
  /** Most that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  readonly expiresAtMs: number
}

/** The columns of the part {@link lockedReceivers}. */
export interface LockedReceiverRow {
  readonly receiver_id: string
  readonly receiver_account_id: string
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
}

/**
 * Fragment: locks incoming payments in the order of their ids, and returns their latest committed state ({@link
 * LockedReceiverRow}). "no key update", so that inserting rows that refer to them need not wait.
 *
 * @param ids an array of ids; the expression is evaluated before the first lock
 */
export function lockedReceivers(ids: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`receiver as (
    select i.id as receiver_id, i.incoming_value::text, i.received_value::text, i.completed, i.expires_at,
           w.account_id as receiver_account_id
      from incoming_payment i ${accountOf(Prisma.sql`i.wallet_address_id`)}
     where i.id = any (${ids}) order by i.id
       for no key update of i
  )`
}

/** Reads a row of {@link lockedReceivers}. */
export function readLockedReceiver(row: LockedReceiverRow): LockedReceiver {
  return {
    id: row.receiver_id,
    accountId: row.receiver_account_id,
    incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
    receivedValue: BigInt(row.received_value),
    completed: row.completed,
    expiresAtMs: row.expires_at.getTime()
  }
}
