import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { Prisma, type Queries } from '../database.js'
import { receivedEntries, sentEntries } from '../interledger/index.js'
import { bookedWithin, payableOf, receivableOf } from '../ledger/index.js'
import { nextClosing } from './close-days.js'

/** The time of a statement, in milliseconds since the Unix epoch: its end is not part of it. */
export interface StatementDay {
  readonly fromMs: number
  readonly toMs: number
}

/** What a peer owed, and was owed, when a statement began and when it ended. */
export interface PeerBalances {
  readonly openingReceivableValue: bigint
  readonly closingReceivableValue: bigint
  readonly openingPayableValue: bigint
  readonly closingPayableValue: bigint
}

const [RECEIVABLE, PAYABLE] = [Prisma.sql`p.receivable_account_id`, Prisma.sql`p.payable_account_id`]
const UNTIL_CLOSED = { from: Prisma.sql`asked.at`, to: Prisma.sql`coalesce(closed.ended_at, 'infinity')` }

interface BalancesRow {
  readonly receivable: string
  readonly payable: string
}

/** When the day began, and when it ended: from the next end of a day that was closed, or from now, less what was booked until then. */
const BALANCES = new Statement<BalancesRow>(
  'get-balances-of-peer',
  Prisma.sql`
  select (coalesce(closed.receivable_value, ${receivableOf(RECEIVABLE)}) + owed.value)::text as receivable,
         (coalesce(closed.payable_value, ${payableOf(PAYABLE)}) - owing.value)::text as payable
    from peer p
   cross join (values (${placeholder('from')}::timestamptz), (${placeholder('to')}::timestamptz)) as asked (at)
    left join lateral (${nextClosing(Prisma.sql`p.id`, Prisma.sql`asked.at`)}) closed on true
   cross join lateral (${bookedWithin(RECEIVABLE, UNTIL_CLOSED)}) owed
   cross join lateral (${bookedWithin(PAYABLE, UNTIL_CLOSED)}) owing
   where p.id = ${placeholder('peerId')}::uuid
   order by asked.at`,
  { prepared: false }
)

/**
 * What a peer owed, and was owed.
 *
 * @param peerId id (UUID) of a peer
 */
export async function findPeerBalances(
  on: Queries,
  peerId: string,
  { fromMs, toMs }: StatementDay
): Promise<PeerBalances | undefined> {
  const [opening, closing] = await BALANCES.rows(on, {
    peerId,
    from: instantText(fromMs),
    to: instantText(toMs)
  })
  return (
    opening &&
    closing && {
      openingReceivableValue: BigInt(opening.receivable),
      closingReceivableValue: BigInt(closing.receivable),
      openingPayableValue: BigInt(opening.payable),
      closingPayableValue: BigInt(closing.payable)
    }
  )
}

/** An entry of a statement: what changed what is owed. */
export interface PeerEntry extends PageEnd {
  /** A packet that was received or sent, or a settlement. */
  readonly kind: 'received' | 'sent' | 'settlement_received' | 'settlement_sent'
  /** Of a packet its condition in base64url, of a settlement its reference. */
  readonly identifier: string
  readonly value: bigint
  /** Id (UUID) of the payment of a packet: an incoming one if it was received, an outgoing one if it was sent. */
  readonly paymentId: string | undefined
  /** Of a packet that was received: what it was fulfilled with, in base64url; undefined if that is not kept. */
  readonly fulfillment: string | undefined
}

interface EntryRow {
  readonly kind: PeerEntry['kind']
  readonly identifier: string
  readonly value: string
  readonly booked_at: Date
  readonly id: string
  readonly payment_id: string | null
  readonly fulfillment: string | null
}

const PEER_ID = Prisma.sql`(select peer_id from asked)`

const ENTRIES = new Statement<EntryRow>(
  'list-entries-of-peer',
  Prisma.sql`
  with asked as (
    select ${placeholder('peerId')}::uuid as peer_id, ${placeholder('from')}::timestamptz as began_at,
           ${placeholder('to')}::timestamptz as ended_at, ${placeholder('afterBookedAt')}::timestamptz as after_booked_at,
           ${placeholder('afterId')}::uuid as after_id
  ), entry as (
    ${receivedEntries(PEER_ID, {
      from: Prisma.sql`(select greatest(began_at, after_booked_at) from asked)`,
      to: Prisma.sql`(select ended_at from asked)`
    })}
    union all
    ${sentEntries(PEER_ID, {
      from: Prisma.sql`(select greatest(began_at, after_booked_at) from asked)`,
      to: Prisma.sql`(select ended_at from asked)`
    })}
    union all
    select 'settlement_' || direction, reference, value, created_at, id, null::uuid, null::text
      from peer_settlement
     where peer_id = ${PEER_ID} and created_at >= (select greatest(began_at, after_booked_at) from asked)
       and created_at < (select ended_at from asked)
  )
  select kind, identifier, value::text, booked_at, id, payment_id, fulfillment
    from entry
   where (booked_at, id) > (select coalesce(after_booked_at, '-infinity'), coalesce(after_id, '00000000-0000-0000-0000-000000000000') from asked)
   order by booked_at, id limit ${placeholder('limit')}::integer`,
  { prepared: false }
)

/**
 * Lists what changed what a peer owes, in the order of booking.
 *
 * @param query.after the end of the page before; undefined for the first one
 */
export async function listPeerEntries(
  on: Queries,
  {
    peerId,
    day,
    after,
    limit
  }: {
    readonly peerId: string
    readonly day: StatementDay
    readonly after: PageEnd | undefined
    readonly limit: number
  }
): Promise<readonly PeerEntry[]> {
  const rows = await ENTRIES.rows(on, {
    peerId,
    from: instantText(day.fromMs),
    to: instantText(day.toMs),
    afterBookedAt: after ? instantText(after.createdAtMs) : null,
    afterId: after?.id ?? null,
    limit
  })
  return rows.map((row) => ({
    kind: row.kind,
    identifier: row.kind === 'received' || row.kind === 'sent' ? toBase64url(row.identifier) : row.identifier,
    value: BigInt(row.value),
    createdAtMs: row.booked_at.getTime(),
    id: row.id,
    paymentId: row.payment_id ?? undefined,
    fulfillment: row.fulfillment === null ? undefined : toBase64url(row.fulfillment)
  }))
}

function toBase64url(base64: string): string {
  return Buffer.from(base64, 'base64').toString('base64url')
}
