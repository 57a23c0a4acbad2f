import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { SendingTerms, SendOrder } from '../../domain/outgoing-method.js'
import { PAID_AFTER_TERMS_MAX_MS } from '../../domain/outgoing-payment.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { wasDoubted } from '../interledger/index.js'
import { accountById, assetById, holdOf } from '../ledger/index.js'
import { isOwedAnything } from '../peers/index.js'
import { isBeforeChange } from '../timeline/index.js'
import { accountOf } from '../wallet-addresses/index.js'
import { perhapsSentSince } from './doubt.js'
import { partiallySentEvents } from './events.js'
import { busyPeers, getsOf, paysOver, type SendingRoom, sharing } from './sending-room.js'
import {
  type Claim,
  type ClaimedPayment,
  type ClaimedPaymentRow,
  isFrozenPayment,
  readClaimedPayment
} from './process.js'

// A payment to a receiver that is hosted elsewhere takes longer than a transaction. It stays pending meanwhile, and has a row in `sending`
// from when it is begun until it ends. Which process sends it is decided by a lease: it outlasts no process for long.
//
// If the database lost commits, what was sent for a payment from before that may be lost with them. None of these is begun, taken or ended by
// itself, until a packet stands for what is not known, and an operator has decided about it: see `doubtful`. One whose row was lost, too, and
// that its client has created anew is as old as its reservation.

/** A claimed payment to a receiver that is hosted elsewhere. */
export interface ClaimedSending extends ClaimedPayment {
  readonly sending: SendingTerms
  /** Until when it may be begun, in milliseconds since the Unix epoch. */
  readonly beginUntilMs: number
}

interface SendingColumns {
  readonly peer_id: string
  readonly send_max_value: string
  readonly fixed_fee_value: string
  readonly begin_until: Date
}

type ClaimedSendingRow = ClaimedPaymentRow & SendingColumns

/** Fragment: the columns of a {@link ClaimedSendingRow}, of the payments `p` that {@link SENDING_JOINS} joins. */
const SENDING_COLUMNS = Prisma.sql`
  p.id, p.debit_value::text, p.fee_value::text, p.receive_value::text, p.refund_of, p.receive_asset_id, w.account_id, a.asset_id,
  hold.id is not null as held, p.created_at, null as incoming_payment_id, p.peer_id, p.send_max_value::text, p.fixed_fee_value::text,
  p.begin_until`

const SENDING_JOINS = Prisma.sql`
  ${accountOf(Prisma.sql`p.wallet_address_id`)}
  ${accountById(Prisma.sql`w.account_id`)}
  ${holdOf(Prisma.sql`p.id`)}
  cross join lateral (
    select ${placeholder('holdsFrozen')}::boolean and ${isFrozenPayment(Prisma.sql`null::uuid`)} as holds) freezing`

const NOW = Prisma.sql`${placeholder('now')}::timestamptz`

// Those that a freeze holds are left out until they may no longer begin; so are those that are more than their peers may still be owed, and those
// that there is no room for.
const lockedToSend = (columns: Prisma.Sql, hasRoom: Prisma.Sql): Prisma.Sql => Prisma.sql`
  select ${columns}
    from outgoing_payment p ${SENDING_JOINS}
   where p.state = 'pending' and p.peer_id is not null
     and (select true from sending s where s.payment_id = p.id) is null
     and (p.begin_until <= ${NOW}
          or not (freezing.holds or p.send_max_value > coalesce((${placeholder('mostTo')}::jsonb ->> p.peer_id::text)::numeric, p.send_max_value))
             and ${hasRoom})
     and not ${isBeforeChange(perhapsSentSince)}
   order by p.created_at, p.id
   limit ${placeholder('limit')}::integer
     for no key update of p skip locked`

const CLAIM = new Statement<ClaimedSendingRow>(
  'claim-payments-to-send',
  lockedToSend(Prisma.sql`${SENDING_COLUMNS}, freezing.holds as frozen`, Prisma.sql`true`)
)

/** Which pending payments to receivers that are hosted elsewhere to begin, of those that are not being sent. */
export interface SendingClaim extends Pick<Claim, 'limit' | 'holdsFrozen' | 'nowMs'> {
  /** By the ids (UUID) of peers, the most that their payments may send: those of more are left out until they may no longer begin. */
  readonly mostTo: ReadonlyMap<string, bigint>
}

/**
 * Locks pending payments to receivers that are hosted elsewhere and that are not being sent, the oldest first, until the transaction ends.
 */
export async function claimToSend(
  transaction: Queries,
  claim: SendingClaim
): Promise<readonly ClaimedSending[]> {
  const rows = await CLAIM.rows(transaction, claiming(claim))
  return rows.map(readClaimedSending)
}

function claiming({ limit, holdsFrozen, mostTo, nowMs }: SendingClaim) {
  const values = Object.fromEntries([...mostTo].map(([id, value]) => [id, value.toString()]))
  return { limit, holdsFrozen, mostTo: JSON.stringify(values), now: instantText(nowMs) }
}

function readClaimedSending(row: ClaimedSendingRow): ClaimedSending {
  return { ...readClaimedPayment(row), sending: readSending(row), beginUntilMs: row.begin_until.getTime() }
}

function readSending({
  peer_id,
  send_max_value,
  fixed_fee_value
}: Omit<SendingColumns, 'begin_until'>): SendingTerms {
  return {
    peerId: peer_id,
    sendMaxValue: BigInt(send_max_value),
    fixedFeeValue: BigInt(fixed_fee_value)
  }
}

/** Reads how a quote or a payment is sent; undefined for a receiver that is hosted here. */
export function readSendingTerms(row: {
  readonly peer_id: string | null
  readonly send_max_value: string | null
  readonly fixed_fee_value: string
}): SendingTerms | undefined {
  const { peer_id, send_max_value, fixed_fee_value } = row
  return peer_id === null || send_max_value === null
    ? undefined
    : readSending({ peer_id, send_max_value, fixed_fee_value })
}

const BEGIN = new Statement(
  'begin-sending-within-limits',
  Prisma.sql`
  insert into sending (payment_id, peer_id, held_value, due_at)
  select id, peer_id, send_max_value, ${NOW} from json_to_recordset(${placeholder('payments')}::json)
    as begun (id uuid, peer_id uuid, send_max_value numeric)
  -- Another process may have begun it just before its payment was locked here.
  on conflict (payment_id) do nothing`
)

/** Begins to send payments: the first attempt is due at once. */
export async function beginSending(
  transaction: Queries,
  payments: readonly ClaimedSending[],
  nowMs: number
): Promise<void> {
  await BEGIN.rows(transaction, {
    payments: JSON.stringify(
      payments.map(({ id, sending }) => ({
        id,
        peer_id: sending.peerId,
        send_max_value: sending.sendMaxValue.toString()
      }))
    ),
    now: instantText(nowMs)
  })
}

const BEGIN_AT_ONCE = new Statement<LeasedRow & { readonly ready: boolean; readonly begun: boolean }>(
  'begin-sending-payments',
  Prisma.sql`
  with pending as (
    ${lockedToSend(
      Prisma.sql`
      p.id, p.wallet_address_id, p.receiver, p.receive_value, p.receive_asset_id, p.peer_id, p.send_max_value, p.fixed_fee_value, p.begin_until,
      p.created_at,
      hold.id is not null and p.begin_until > ${NOW} and ${isOwedAnything(Prisma.sql`p.peer_id`)} as ready`,
      paysOver(Prisma.sql`p.peer_id`, Prisma.sql`p.wallet_address_id`, Prisma.sql`1`)
    )}
  ), begun as (
    insert into sending (payment_id, peer_id, held_value, due_at, leased_by, leased_until)
    select id, peer_id, send_max_value, ${NOW}, ${placeholder('leaseId')}::uuid, ${placeholder('leasedUntil')}::timestamptz
      from (select *, row_number() over (partition by peer_id order by created_at, id) as place
              from (select *, row_number() over (partition by peer_id, wallet_address_id order by created_at, id) as payer_place
                      from pending where ready) ranked
             where ${paysOver(Prisma.sql`peer_id`, Prisma.sql`wallet_address_id`, Prisma.sql`payer_place`)}) placed
     where ${getsOf(Prisma.sql`peer_id`, Prisma.sql`place`)}
    -- Another process may have begun it just before its payment was locked here.
    on conflict (payment_id) do nothing
    returning payment_id
  )
  select p.id, p.wallet_address_id, p.receiver, p.receive_value::text, p.peer_id, p.send_max_value::text, p.fixed_fee_value::text,
         p.begin_until, ra.code, ra.scale,
         0 as attempts, false as holds, p.ready,
         begun.payment_id is not null as begun
    from pending p left join begun on begun.payment_id = p.id ${assetById(Prisma.sql`p.receive_asset_id`, Prisma.sql`ra`)}
   order by p.created_at, p.id`
)

/**
 * Begins to send payments, and takes them for this process: those of which no more must be asked, because their senders' money is held,
 * their terms stand, and the provider may owe their peers any amount.
 */
export async function beginSendingAtOnce(
  on: Queries,
  claim: SendingClaim & Lease & { readonly room: SendingRoom }
): Promise<{
  /** Number of payments that were found, up to the limit. */
  readonly found: number
  /** Whether there are some of which more must be asked. */
  readonly hasOthers: boolean
  readonly begun: readonly LeasedSending[]
}> {
  const { room } = claim
  const mostTo = new Map([...claim.mostTo, ...busyPeers(room).map((id) => [id, 0n] as const)])
  const rows = await BEGIN_AT_ONCE.rows(on, {
    ...claiming({ ...claim, mostTo }),
    ...leasing(claim),
    ...sharing(room)
  })
  return {
    found: rows.length,
    hasOthers: rows.some(({ ready }) => !ready),
    begun: rows
      .filter(({ begun }) => begun)
      .map((row) => ({ ...readLeased(row, claim), isNew: true, isCovered: true, isDoubted: false }))
  }
}

/** Payments that are taken together are those of one lease, until it ends or is renewed for one of them. */
export interface Lease {
  /** Id (UUID): another one each time. */
  readonly leaseId: string
  readonly leasedUntilMs: number
}

function leasing({ leaseId, leasedUntilMs }: Lease) {
  return { leaseId, leasedUntil: instantText(leasedUntilMs) }
}

/** A payment that this process sends now. */
export interface LeasedSending extends SendOrder {
  /** Id (UUID) of the wallet address that pays. */
  readonly walletAddressId: string
  /** Whether a freeze holds it: then nothing is sent. */
  readonly isHeld: boolean
  /** Whether its sender's money is held for it. */
  readonly isCovered: boolean
  /** Whether more may have been sent for it than was written down, which was lost, or an operator decided about that. */
  readonly isDoubted: boolean
  /** Attempts without a fulfillment, one after the other. */
  readonly attempts: number
}

interface LeasedRow extends SendingColumns {
  readonly id: string
  readonly wallet_address_id: string
  readonly receiver: string
  readonly receive_value: string
  readonly code: string
  readonly scale: number
  readonly attempts: number
  readonly holds: boolean
}

/** Fragment, an expression: whether a freeze holds the payment of the row `s` of `sending`. */
const isHeld = Prisma.sql`(
  select freezing.holds from outgoing_payment p ${SENDING_JOINS} where p.id = s.payment_id)`

/** Fragment, an expression: the wallet address that pays the payment of the row `s` of `sending`. */
const payerOf = Prisma.sql`(select p.wallet_address_id from outgoing_payment p where p.id = s.payment_id)`

const LEASE = new Statement<
  LeasedRow & { readonly due_count: number; readonly covered: boolean; readonly doubted: boolean }
>(
  'lease-payments-to-send',
  Prisma.sql`
  with due as (
    select payment_id, peer_id, due_at, ${payerOf} as wallet_address_id, ${isHeld} as holds
      from sending s
     where due_at <= ${NOW} and (leased_until is null or leased_until <= ${NOW})
       and not (payment_id = any(${placeholder('except')}::uuid[]) or peer_id = any(${placeholder('exceptPeers')}::uuid[]))
       and ${paysOver(Prisma.sql`s.peer_id`, payerOf, Prisma.sql`1`)}
       and (due_at <= ${placeholder('heldDueBefore')}::timestamptz or not ${isHeld})
       and not ${isBeforeChange(Prisma.sql`s.known_since`)}
     order by due_at, payment_id limit ${placeholder('limit')}::integer for update skip locked
  ), placed as (
    select payment_id, peer_id, row_number() over (partition by peer_id order by due_at, payment_id) as place
      from (select *, row_number() over (partition by peer_id, wallet_address_id order by due_at, payment_id) as payer_place from due) ranked
     where ${paysOver(Prisma.sql`peer_id`, Prisma.sql`wallet_address_id`, Prisma.sql`payer_place`)}
  ), leased as (
    update sending s
       set leased_by = ${placeholder('leaseId')}::uuid, leased_until = ${placeholder('leasedUntil')}::timestamptz
     where s.payment_id = any (array(
       select payment_id from placed where ${getsOf(Prisma.sql`peer_id`, Prisma.sql`place`)}))
    returning s.payment_id, s.attempts
  )
  select p.id, p.wallet_address_id, p.receiver, p.receive_value::text, p.peer_id, p.send_max_value::text, p.fixed_fee_value::text,
         p.begin_until, ra.code, ra.scale,
         leased.attempts, due.holds, hold.id is not null as covered, ${wasDoubted(Prisma.sql`p.id`)} as doubted,
         (select count(*) from due)::integer as due_count
    from leased join due on due.payment_id = leased.payment_id
         join outgoing_payment p on p.id = leased.payment_id ${assetById(Prisma.sql`p.receive_asset_id`, Prisma.sql`ra`)}
         ${holdOf(Prisma.sql`p.id`)}`
)

/**
 * Takes payments whose next attempt is due, and that nobody sends now.
 *
 * @param lease.heldDueBeforeMs those that a freeze holds are taken if their next attempt was due by then
 * @param lease.except ids (UUID) of payments that this process sends, though their leases may have ended
 */
export async function leaseDue(
  on: Queries,
  lease: Lease & {
    readonly limit: number
    readonly except: readonly string[]
    readonly holdsFrozen: boolean
    readonly nowMs: number
    readonly heldDueBeforeMs: number
    readonly room: SendingRoom
  }
): Promise<{
  /** Number of payments that were found, up to the limit. */
  readonly found: number
  readonly leased: readonly LeasedSending[]
}> {
  const { limit, except, holdsFrozen, nowMs, heldDueBeforeMs, room } = lease
  const rows = await LEASE.rows(on, {
    limit,
    except: [...except],
    exceptPeers: [...busyPeers(room)],
    ...sharing(room),
    holdsFrozen,
    ...leasing(lease),
    now: instantText(nowMs),
    heldDueBefore: instantText(heldDueBeforeMs)
  })
  return {
    found: rows[0]?.due_count ?? 0,
    leased: rows.map((row) => ({
      ...readLeased(row, lease),
      isNew: false,
      isCovered: row.covered,
      isDoubted: row.doubted
    }))
  }
}

const HELD = new Statement<{ readonly id: string }>(
  'find-held-sendings',
  Prisma.sql`
  select p.id from outgoing_payment p ${SENDING_JOINS} where p.id = any(${placeholder('ids')}::uuid[]) and freezing.holds`
)

/** Which of some payments (UUID) a freeze holds, if freezes hold pending payments. */
export async function findHeldSendings(on: Queries, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await HELD.rows(on, { ids: [...ids], holdsFrozen: true })
  return rows.map(({ id }) => id)
}

function readLeased(
  row: LeasedRow,
  { leaseId, leasedUntilMs }: Lease
): Omit<LeasedSending, 'isNew' | 'isCovered' | 'isDoubted'> {
  return {
    paymentId: row.id,
    walletAddressId: row.wallet_address_id,
    leaseId,
    leasedUntilMs,
    receiver: row.receiver,
    receiveAsset: { code: row.code, scale: row.scale },
    receiveValue: BigInt(row.receive_value),
    sending: readSending(row),
    sendUntilMs: row.begin_until.getTime() + PAID_AFTER_TERMS_MAX_MS,
    attempts: row.attempts,
    isHeld: row.holds
  }
}

/**
 * Fragment: the part `lease` (`payment_id`), which renews the leases of the payments of the part `entry` (`payment_id`, `lease_id`) and lowers
 * what may still be sent for them. A payment that somebody else has taken has no row. Takes `leasedUntil`.
 *
 * @param dispatchedValues selects what was sent and fulfilled (`payment_id`, `value`)
 */
export const leasesRenewed = (dispatchedValues: Prisma.Sql): Prisma.Sql => Prisma.sql`
  lease as (
    update sending s
       set leased_until = ${placeholder('leasedUntil')}::timestamptz, held_value = s.held_value - coalesce(dispatched.value, 0)
      from entry left join (${dispatchedValues}) dispatched on dispatched.payment_id = entry.payment_id
     where s.payment_id = entry.payment_id and s.leased_by = entry.lease_id and not ${isBeforeChange(Prisma.sql`s.known_since`)}
    returning s.payment_id
  )`

/**
 * Fragment: selects the payment of a lease (`is_doubtful`), if nobody else has taken it. While it is doubtful nothing is written for it: the
 * database may have lost commits, and it was not looked yet whether it has. Takes `paymentId` and `leaseId`.
 */
export const leasedSending = Prisma.sql`
  select ${isBeforeChange(Prisma.sql`s.known_since`)} as is_doubtful from sending s
   where s.payment_id = ${placeholder('paymentId')}::uuid and s.leased_by = ${placeholder('leaseId')}::uuid`

/** Fragment: sets what the event of the part `progressed` tells of the payment in `sending s`. */
const TOLD = Prisma.sql`
  told_debit_value = coalesce((select settled_debit_value from progressed), s.told_debit_value)`

const POSTPONE = new Statement<{ readonly id: string }>(
  'postpone-sending',
  Prisma.sql`
  with leased as (
    select payment_id, told_debit_value from sending
     where payment_id = ${placeholder('paymentId')}::uuid and leased_by = ${placeholder('leaseId')}::uuid
       for update
  ), progressed as (
    select p.id, p.updated_at, p.settled_debit_value from leased join outgoing_payment p on p.id = leased.payment_id
     where p.settled_debit_value > leased.told_debit_value
  ), postponed as (
    update sending s
       set leased_by = null, leased_until = null, attempts = ${placeholder('attempts')}::integer,
           due_at = ${placeholder('dueAt')}::timestamptz, ${TOLD}
      from leased where s.payment_id = leased.payment_id
  ), ${appended(partiallySentEvents)}
  select id from progressed`
)

/**
 * Ends the lease of a payment that is not over, and tells of what was delivered since that was told last.
 *
 * @param next.dueAtMs when the next attempt begins; undefined: none does until packets are decided
 * @returns whether there is something to tell
 */
export async function postponeSending(
  on: Queries,
  { paymentId, leaseId }: Pick<SendOrder, 'paymentId' | 'leaseId'>,
  next: { readonly attempts: number; readonly dueAtMs: number | undefined }
): Promise<boolean> {
  const { attempts, dueAtMs } = next
  const dueAt = dueAtMs === undefined ? null : instantText(dueAtMs)
  return (await POSTPONE.rows(on, { paymentId, leaseId, attempts, dueAt })).length > 0
}

/**
 * Fragment, a condition: whether a payment awaits approval. That it was approved before may be lost, if it is among those that are being sent.
 *
 * @param paymentId names the payment
 */
export const isAwaitingApproval = (paymentId: Prisma.Sql): Prisma.Sql => Prisma.sql`exists (
  select 1 from outgoing_payment p where p.id = ${paymentId} and p.state::text = 'awaiting_approval')`

/**
 * Fragment: the part `unleased` (`payment_id`), which locks the payment of the part `undecided` (`payment_id`) among those that are being sent,
 * if no process sends it now. What arrived of one that awaits approval is for those to say who approve it first. Takes `now` and `arrived`.
 */
export const unleasedSending = Prisma.sql`
  unleased as (
    select payment_id from sending s
     where payment_id = (select payment_id from undecided) and (leased_until is null or leased_until <= ${NOW})
       and not (${placeholder('arrived')}::boolean and ${isAwaitingApproval(Prisma.sql`s.payment_id`)})
       for update of s
  )`

/**
 * Fragment: the part `resumed`, which makes the next attempt of the payment of the part `decided` (`payment_id`) due unless it awaits approval, and lowers what may still
 * be sent by what the part `dispatched` (`send_value`) was. The part `progressed` is told. Takes `now`.
 */
export const sendingResumed = Prisma.sql`
  resumed as (
    update sending s
       set due_at = case when ${isAwaitingApproval(Prisma.sql`s.payment_id`)} then s.due_at else ${NOW} end,
           leased_by = null, leased_until = null, ${TOLD},
           held_value = s.held_value - coalesce((select sum(send_value) from dispatched), 0)
     where s.payment_id = (select payment_id from decided)
    returning s.payment_id
  )`

// Payments are locked in the order of their ids, before their rows in `sending`, and before accounts are.
const END = new Statement<ClaimedSendingRow & { readonly lease_id: string }>(
  'end-sending',
  Prisma.sql`
  with asked as (
    select * from unnest(${placeholder('paymentIds')}::uuid[], ${placeholder('leaseIds')}::uuid[]) as a (payment_id, lease_id)
  ), ending as (
    select ${SENDING_COLUMNS}, false as frozen
      from outgoing_payment p ${SENDING_JOINS}
     where p.id = any(array(select payment_id from asked)) and p.state::text = 'pending'
     order by p.id
       for no key update of p
  ), ended as (
    delete from sending s using asked
     where s.payment_id = asked.payment_id and s.leased_by = asked.lease_id
       and s.payment_id = any(array(select id from ending))
       and not ${isBeforeChange(Prisma.sql`s.known_since`)}
    returning s.payment_id, asked.lease_id
  )
  select ending.*, ended.lease_id from ending join ended on ended.payment_id = ending.id`
)

/**
 * Locks payments until the transaction ends, and takes them from those that are being sent.
 *
 * @returns those that nobody else has taken
 */
export async function endSending(
  transaction: Queries,
  sent: readonly Pick<SendOrder, 'paymentId' | 'leaseId'>[]
): Promise<readonly (ClaimedSending & Pick<SendOrder, 'leaseId'>)[]> {
  const rows = await END.rows(transaction, {
    paymentIds: sent.map(({ paymentId }) => paymentId),
    leaseIds: sent.map(({ leaseId }) => leaseId),
    holdsFrozen: false
  })
  return rows.map((row) => ({ ...readClaimedSending(row), leaseId: row.lease_id }))
}
