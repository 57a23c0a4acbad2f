import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { QuotedAmounts } from '@open-payments-server/value-types/amounts'
import { PAID_AFTER_TERMS_MAX_MS } from '../../domain/outgoing-payment.js'
import type { Settlement } from '../../domain/settlement.js'
import { metAnyRule } from '../approvals/index.js'
import { Prisma, type Queries } from '../database.js'
import { isFrozenClient } from '../frozen-clients/index.js'
import { canGoOn, isFrozenReceiver } from '../incoming-payments/index.js'
import { accountById, holdOf } from '../ledger/index.js'
import { accountOf, IS_FROZEN } from '../wallet-addresses/index.js'

/** Which pending payments to claim: the oldest, or certain ones. */
export interface Claim {
  readonly limit: number
  /** Ids (UUID); any when undefined. */
  readonly ids?: readonly string[]
  /** Ids (UUID) to skip; none when undefined. */
  readonly except?: readonly string[]
  /** Whether those that a freeze is about wait for its end. */
  readonly holdsFrozen: boolean
  /** In milliseconds since the Unix epoch. */
  readonly nowMs: number
}

/** A pending payment that this process has claimed. */
export interface ClaimedPayment {
  /** Id (UUID). */
  readonly id: string
  /** Id (UUID) of the incoming payment it pays; undefined when its URL names none. */
  readonly incomingPaymentId: string | undefined
  readonly amounts: QuotedAmounts
  /** Id (UUID) of the payment that it refunds; undefined unless it is a refund. */
  readonly refundOf: string | undefined
  /** Id (UUID) of the sender's account. */
  readonly senderAccountId: string
  /** Ids of the assets. */
  readonly debitAssetId: number
  readonly receiveAssetId: number
  /** Whether there is a hold on the sender's money for it. */
  readonly held: boolean
  /** Whether a freeze holds it, which then ends it: its incoming payment was completed or expired meanwhile, or its terms ended. */
  readonly frozen: boolean
}

/** A claimed payment to a receiver that is hosted here. */
export interface ClaimedLocalPayment extends ClaimedPayment {
  /**
   * Until when it may be settled, in milliseconds since the Unix epoch: until its terms end, and longer if nobody but this provider could delay
   * it. undefined if they do not end.
   */
  readonly settleUntilMs: number | undefined
}

/** Columns that every claimed payment has. */
export interface ClaimedPaymentRow {
  readonly id: string
  readonly incoming_payment_id: string | null
  readonly debit_value: string
  readonly fee_value: string
  readonly receive_value: string
  readonly refund_of: string | null
  readonly receive_asset_id: number
  readonly account_id: string
  readonly asset_id: number
  readonly held: boolean
  readonly frozen: boolean
  readonly created_at: Date
}

/** The columns of the part {@link claimed}. */
export interface ClaimedLocalPaymentRow extends ClaimedPaymentRow {
  readonly settle_until: Date | null
}

/**
 * Fragment, an expression: until when the payment `p`, whose receiver is hosted here, may be settled; null if its terms do not end. Whoever
 * decides about a payment could wait and see whether its exchange rate was good, so those that met a rule have no longer than their terms.
 */
const SETTLE_UNTIL = Prisma.sql`
  case when p.begin_until is not null then
    p.begin_until + case when ${metAnyRule(Prisma.sql`p.id`)} then interval '0' else ${PAID_AFTER_TERMS_MAX_MS} * interval '1 millisecond' end end`

/**
 * Fragment, a condition: whether a freeze is about a payment `p`: of its client, of the wallet address `w` or the account `a` that
 * it is sent from, which are joined, or of those that it is sent to.
 *
 * @param incomingPaymentId names the incoming payment that it pays
 */
export function isFrozenPayment(incomingPaymentId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(${IS_FROZEN} or ${isFrozenClient(Prisma.sql`p.client`)} or ${isFrozenReceiver(incomingPaymentId)})`
}

const NOW = Prisma.sql`${placeholder('now')}::timestamptz`

/**
 * Fragment: locks pending payments to receivers below a URL, the oldest first, skipping locked ones. "no key update", so
 * that inserting rows that refer to them, such as the transfers of payments being created, need not wait. Takes what {@link
 * claiming} returns. Those that a freeze holds are left out, until they can no longer go on or their terms end.
 */
export const claimed = Prisma.sql`
  claimed as (
    select p.id, p.debit_value::text, p.fee_value::text, p.receive_value::text, p.refund_of, p.receive_asset_id, w.account_id, a.asset_id,
           hold.id is not null as held, p.created_at, paid.id as incoming_payment_id, freezing.holds as frozen,
           ${SETTLE_UNTIL} as settle_until
      from outgoing_payment p
      ${accountOf(Prisma.sql`p.wallet_address_id`)}
      ${accountById(Prisma.sql`w.account_id`)}
      ${holdOf(Prisma.sql`p.id`)}
      cross join lateral (
        select case when substring(p.receiver from length(${placeholder('receivers')}::text) + 1)
                           ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                    then substring(p.receiver from length(${placeholder('receivers')}::text) + 1)::uuid end as id) paid
      cross join lateral (
        select ${placeholder('holdsFrozen')}::boolean and ${isFrozenPayment(Prisma.sql`paid.id`)} as holds) freezing
     where p.state = 'pending' and starts_with(p.receiver, ${placeholder('receivers')}::text)
       and (${placeholder('ids')}::uuid[] is null or p.id = any(${placeholder('ids')}::uuid[]))
       and not (p.id = any(${placeholder('except')}::uuid[]))
       and not (freezing.holds and ${canGoOn({ id: Prisma.sql`paid.id`, now: NOW })} and coalesce(p.begin_until > ${NOW}, true))
     order by p.created_at, p.id
     limit ${placeholder('limit')}::integer
       for no key update of p skip locked
  )`

/**
 * The parameters of {@link claimed}.
 *
 * @param receivers the prefix of the receivers' URLs, before their ids
 */
export function claiming(
  { limit, ids, except, holdsFrozen, nowMs }: Claim,
  receivers: string
): Record<string, unknown> {
  return {
    receivers,
    ids: ids ?? null,
    except: except ?? [],
    limit,
    holdsFrozen,
    now: instantText(nowMs)
  }
}

/** Reads what every claimed payment has. */
export function readClaimedPayment(row: ClaimedPaymentRow): ClaimedPayment {
  return {
    id: row.id,
    incomingPaymentId: row.incoming_payment_id ?? undefined,
    amounts: {
      debitValue: BigInt(row.debit_value),
      feeValue: BigInt(row.fee_value),
      receiveValue: BigInt(row.receive_value)
    },
    refundOf: row.refund_of ?? undefined,
    senderAccountId: row.account_id,
    debitAssetId: row.asset_id,
    receiveAssetId: row.receive_asset_id,
    held: row.held,
    frozen: row.frozen
  }
}

/** Reads a row of {@link claimed}. */
export function readClaimedLocalPayment(row: ClaimedLocalPaymentRow): ClaimedLocalPayment {
  return { ...readClaimedPayment(row), settleUntilMs: row.settle_until?.getTime() }
}

/** How a payment ends. */
export interface Ending {
  /** Id (UUID). */
  readonly id: string
  /** Whether there is a hold on the sender's money for it. */
  readonly held: boolean
  readonly settlement: Settlement
}

/**
 * Fragment: the part `ending` (`id`, `held`, `state`, `failure_reason`, `settled_debit_value`, `settled_receive_value`), as
 * {@link endings} returns it, and the part `payment`, which ends those of its payments that are still pending, with the new values
 * of each. Takes `now`.
 *
 * The state is compared as text: otherwise a plan could read the index of all pending payments, with thousands of entries
 * that were not vacuumed yet.
 */
export const ended = Prisma.sql`
  ending as (
    select * from json_to_recordset(${placeholder('endings')}::json)
      as e(id uuid, held boolean, state outgoing_payment_state, failure_reason outgoing_payment_failure_reason,
           settled_debit_value numeric, settled_receive_value numeric)
  ), payment as (
    update outgoing_payment p
       set state = e.state, failure_reason = e.failure_reason, settled_debit_value = e.settled_debit_value,
           settled_receive_value = e.settled_receive_value, updated_at = greatest(p.updated_at, ${placeholder('now')}::timestamptz)
      from ending e
     where p.id = e.id and p.id = any (array(select id from ending)) and p.state::text = 'pending'
    returning p.id, p.state, p.failure_reason, p.settled_debit_value, p.updated_at, p.wallet_address_id
  )`

/** The endings of {@link ended}. Numbers of arbitrary size are sent as text. */
export function endings(ending: readonly Ending[]): { readonly endings: string } {
  return {
    endings: JSON.stringify(
      ending.map(({ id, held, settlement }) => ({
        id,
        held,
        state: settlement.state,
        failure_reason: settlement.failureReason,
        settled_debit_value: settlement.settledDebitValue.toString(),
        settled_receive_value: settlement.settledReceiveValue.toString()
      }))
    )
  }
}

/** Number of the oldest pending payments among which that which has been pending for longest is looked for. */
const OLDEST_MAX = Prisma.raw('1000')

/** Fragment: payments `p`, and whether a freeze `holds` each while it is pending. Takes `holdsFrozen`. */
const PAYMENTS = Prisma.sql`
  from outgoing_payment p
  ${accountOf(Prisma.sql`p.wallet_address_id`)}
  ${accountById(Prisma.sql`w.account_id`)}
  cross join lateral (
    select ${placeholder('holdsFrozen')}::boolean
           and ${isFrozenPayment(
             Prisma.sql`substring(p.receiver from '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')::uuid`
           )} as holds) freezing`

/** Fragment: the same of pending payments to receivers that are hosted here. */
const PENDING = Prisma.sql`${PAYMENTS} where p.state = 'pending' and p.peer_id is null`

/**
 * Fragments over pending payments to receivers that are hosted here. They read a partial index, whatever the size of the table. Both take `holdsFrozen`: whether
 * a freeze holds those that it is about.
 */
export const pending = {
  /** Since when the payment that no freeze holds and that has been pending for longest is so: since it was created, or approved. */
  oldest: Prisma.sql`(
    select min(updated_at) from (
      select p.updated_at ${PENDING} and not freezing.holds order by p.created_at, p.id limit ${OLDEST_MAX}) oldest)`,
  /** The number of those that a freeze holds, counted up to a limit. */
  heldCount: (limit: number): Prisma.Sql => Prisma.sql`(
    select count(*) from (select 1 ${PENDING} and freezing.holds limit ${limit}::integer) held)::integer`
}

/** A statement, to decide as {@link claimed} does. The state is compared as text, as in {@link ended}. */
const FROZEN = new Statement<{ id: string }>(
  'find-frozen-payments',
  Prisma.sql`
  select p.id ${PAYMENTS}
   where p.id = any(${placeholder('ids')}::uuid[]) and p.state::text = 'pending' and freezing.holds`
)

/** Which of some payments (UUID) a freeze holds. */
export async function findFrozenPayments(on: Queries, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await FROZEN.rows(on, { ids: [...ids], holdsFrozen: true })
  return new Set(rows.map(({ id }) => id))
}
