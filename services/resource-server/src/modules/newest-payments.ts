import { instantText } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { FailureReason } from '../domain/failure-reasons.js'
import type { OutgoingPaymentState } from '../domain/outgoing-payment.js'
import { Prisma, type Queries } from './database.js'
import { WALLET_ADDRESS } from './wallet-addresses/index.js'

/** How many payments one statement looks at to find those of a state or a client, which no index has. */
const LOOKED_AT_MAX = 1_000
/** How many statements look for them, one after the other, until a page is short. */
const ROUNDS_MAX = 10

/** What an operator looks for. */
export interface NewestFilter {
  /** Id (UUID) of a wallet address; undefined for those of all. */
  readonly walletAddressId: string | undefined
  /** Id (UUID), only together with a wallet address; undefined for those under all. */
  readonly grantId: string | undefined
  /** Only those created from this instant on, in milliseconds since the Unix epoch; undefined for no bound. */
  readonly fromMs: number | undefined
  /** Only those created before this instant; undefined for no bound. */
  readonly untilMs: number | undefined
  /** Only those for exactly this: the debit, or the incoming amount; undefined for any. */
  readonly value: bigint | undefined
  readonly state: string | undefined
  /** Only those of this client; see `nameClient`. */
  readonly client: string | undefined
}

/** Which payments an operator lists. */
export interface NewestRange extends NewestFilter {
  /** Only older ones than at this position; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
  /** At which payments expire, in milliseconds since the Unix epoch. */
  readonly nowMs: number
}

/** A page of payments. */
export interface NewestPage {
  readonly payments: readonly ListedPayment[]
  /** Where the next page begins; undefined after the last one. */
  readonly next: PageEnd | undefined
}

/** A payment in an operator's list. Values are in units of its asset. */
export interface ListedPayment extends PageEnd {
  /** Path of its wallet address. */
  readonly path: string
  /** Who created it; see `nameClient`. */
  readonly client: string
  readonly state: OutgoingPaymentState
  /** Undefined for outgoing payments. */
  readonly expiresAtMs: number | undefined
  /** Undefined unless it failed. */
  readonly failureReason: FailureReason | undefined
  /** Incoming amount or debit amount; undefined when open. */
  readonly value: bigint | undefined
  /** Amount actually received, or actually sent. */
  readonly movedValue: bigint
  readonly asset: Asset
  /** URL of the incoming payment that an outgoing payment pays; empty for incoming payments. */
  readonly receiver: string
  /** What refunds took of what it delivered or received, or are to take. */
  readonly refundedValue: bigint
  /** The receiver's asset. */
  readonly refundedAsset: Asset
  /** Id (UUID) of the outgoing payment that it, or the payments to it, refund; undefined unless they do. */
  readonly refundOf: string | undefined
  readonly updatedAtMs: number
}

interface NewestRow {
  readonly id: string
  readonly path: string
  readonly client: string
  readonly state: ListedPayment['state']
  readonly expires_at: Date | null
  readonly failure_reason: FailureReason | null
  readonly value: string | null
  readonly moved_value: string
  readonly code: string
  readonly scale: number
  readonly receiver: string
  readonly refunded_value: string | null
  /** Null where it is the asset of the payment. */
  readonly receive_code: string | null
  readonly receive_scale: number | null
  readonly refund_of: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** A kind of payment whose newest are listed. */
interface NewestKind {
  /** The payments `p`. */
  readonly table: Prisma.Sql
  /** The column of what a payment is for. */
  readonly asked: Prisma.Sql
  /** An expression of its state. */
  readonly state: (now: string) => Prisma.Sql
  /**
   * The columns in which the kinds differ: `client`, `state`, `expires_at`, `failure_reason`, `value`, `moved_value`, `receiver`,
   * `refunded_value`, `refund_of`, and `receive_code` and `receive_scale` of the receiver's asset.
   */
  readonly columns: Prisma.Sql
  /** Joins other tables to the payments, one row each; none unless given. */
  readonly joins?: Prisma.Sql
}

/**
 * Creates a function that lists payments of one kind for operators, newest first. What no index finds is looked for among
 * {@link LOOKED_AT_MAX} at a time, so that no list reads everything, however rare what it looks for is.
 */
export function createNewestPayments(
  kind: NewestKind
): (on: Queries, range: NewestRange) => Promise<NewestPage> {
  return async (on, range) => {
    const payments: ListedPayment[] = []
    let after = range.after
    for (let round = 1; ; round += 1) {
      const wanted = range.limit - payments.length
      const { found, reached } = await look(on, kind, { ...range, after, limit: wanted + 1 })
      payments.push(...found.slice(0, wanted))
      if (found.length > wanted) return { payments, next: payments.at(-1) }
      if (reached === undefined || round === ROUNDS_MAX) return { payments, next: reached }
      after = reached
    }
  }
}

/** `reached` is how far it looked; undefined when there is nothing after that. */
async function look(
  on: Queries,
  kind: NewestKind,
  range: NewestRange
): Promise<{ readonly found: readonly ListedPayment[]; readonly reached: PageEnd | undefined }> {
  const found = (await on.$queryRaw<NewestRow[]>(selectNewest(kind, range))).map(readRow)
  if (!isLookedFor(range) || found.length === range.limit) return { found, reached: undefined }
  const [row] = await on.$queryRaw<{ readonly id: string; readonly created_at: Date }[]>(Prisma.sql`
    select p.id, p.created_at from ${kind.table} p where ${within(kind, range)}
     order by p.created_at desc, p.id desc offset ${LOOKED_AT_MAX - 1}::integer limit 1`)
  return { found, reached: row && { id: row.id, createdAtMs: row.created_at.getTime() } }
}

/** Whether no index has what is listed. */
function isLookedFor({ walletAddressId, state, client, value }: NewestRange): boolean {
  return state !== undefined || (walletAddressId === undefined ? client !== undefined : value !== undefined)
}

/** What an index finds. */
function within({ asked }: NewestKind, range: NewestRange): Prisma.Sql {
  const { walletAddressId, grantId, fromMs, untilMs, value, client, after } = range
  return Prisma.join(
    [
      Prisma.sql`true`,
      ...(walletAddressId === undefined ? [] : [Prisma.sql`p.wallet_address_id = ${walletAddressId}::uuid`]),
      ...(walletAddressId === undefined || client === undefined ? [] : [Prisma.sql`p.client = ${client}`]),
      ...(grantId === undefined ? [] : [Prisma.sql`p.grant_id = ${grantId}::uuid`]),
      ...(walletAddressId !== undefined || value === undefined
        ? []
        : [Prisma.sql`${asked} = ${value.toString()}::numeric`]),
      ...(fromMs === undefined ? [] : [Prisma.sql`p.created_at >= ${instantText(fromMs)}::timestamptz`]),
      ...(untilMs === undefined ? [] : [Prisma.sql`p.created_at < ${instantText(untilMs)}::timestamptz`]),
      ...(after === undefined
        ? []
        : [
            Prisma.sql`(p.created_at, p.id) < (${instantText(after.createdAtMs)}::timestamptz, ${after.id}::uuid)`
          ])
    ],
    ' and '
  )
}

/**
 * Keyset pagination over the matching index: Prisma's models cannot compare rows. Operators list rarely, so it is planned
 * anew for each range.
 */
function selectNewest(kind: NewestKind, range: NewestRange): Prisma.Sql {
  const { table, asked, columns, joins = Prisma.empty } = kind
  const { walletAddressId, value, state, client, limit, nowMs } = range
  const lookedAt = isLookedFor(range) ? LOOKED_AT_MAX : limit
  const conditions = [
    Prisma.sql`true`,
    ...(state === undefined ? [] : [Prisma.sql`${kind.state(instantText(nowMs))} = ${state}`]),
    ...(client === undefined ? [] : [Prisma.sql`p.client = ${client}`]),
    ...(walletAddressId === undefined || value === undefined
      ? []
      : [Prisma.sql`${asked} = ${value.toString()}::numeric`])
  ]
  return Prisma.sql`
    select p.id, w.path, ${columns}, s.code, s.scale, p.created_at, p.updated_at
      from (select * from ${table} p where ${within(kind, range)}
             order by p.created_at desc, p.id desc limit ${lookedAt}::integer) p
      ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)} ${joins}
     where ${Prisma.join(conditions, ' and ')}
     order by p.created_at desc, p.id desc
     limit ${limit}::integer`
}

function readRow(row: NewestRow): ListedPayment {
  return {
    id: row.id,
    path: row.path,
    client: row.client,
    state: row.state,
    expiresAtMs: row.expires_at?.getTime(),
    failureReason: row.failure_reason ?? undefined,
    value: row.value === null ? undefined : BigInt(row.value),
    movedValue: BigInt(row.moved_value),
    asset: { code: row.code, scale: row.scale },
    receiver: row.receiver,
    refundedValue: BigInt(row.refunded_value ?? 0),
    refundedAsset: { code: row.receive_code ?? row.code, scale: row.receive_scale ?? row.scale },
    refundOf: row.refund_of ?? undefined,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime()
  }
}
