import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import type { SettlementDirection } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { lockedAccounts, settlementPosted } from '../ledger/index.js'
import { settledLowEvents } from './events.js'

/** What tells a settlement from others, as banks know it. */
export interface SettlementIdentity {
  /** Id (UUID) of the peer. */
  readonly peerId: string
  readonly direction: SettlementDirection
  /** What the bank calls it. */
  readonly reference: string
}

/** A settlement to be recorded. */
export interface NewSettlement extends SettlementIdentity {
  /** Id (UUID). */
  readonly id: string
  /** Above 0. */
  readonly value: bigint
  /** SHA-256 of the idempotency key. */
  readonly idempotencyHash: Buffer
  /** SHA-256 of everything that was asked for. */
  readonly requestHash: Buffer
  /** Whether it is recorded also where there is one like it. */
  readonly isAnother: boolean
  /** Names of whoever records it; undefined if they are not known. */
  readonly createdBy: string | undefined
  readonly createdAtMs: number
}

// Both accounts of the peer are locked: its limit is about what both say together.
const SETTLE = new Statement<{ readonly id: string }>(
  'settle-peer',
  Prisma.sql`
  with recorded as (
    insert into peer_settlement (id, peer_id, direction, value, reference, idempotency_hash, request_hash, created_by, created_at)
    select ${placeholder('id')}::uuid, ${placeholder('peerId')}::uuid, ${placeholder('direction')}::text,
           ${placeholder('value')}::numeric, ${placeholder('reference')}::text, ${placeholder('idempotencyHash')}::bytea,
           ${placeholder('requestHash')}::bytea, ${placeholder('createdBy')}::text, ${placeholder('now')}::timestamptz
     where ${placeholder('isAnother')}::boolean
        or not exists (select 1 from peer_settlement before
                        where before.peer_id = ${placeholder('peerId')}::uuid and before.direction = ${placeholder('direction')}::text
                          and before.reference = ${placeholder('reference')}::text)
    on conflict (idempotency_hash) do nothing
    returning id, peer_id, direction, value
  ), of_peer as (
    select p.receivable_account_id, p.payable_account_id, p.asset_id, p.receivable_limit_value, p.low_alert_value
      from recorded join peer p on p.id = recorded.peer_id
  ), ${lockedAccounts(Prisma.sql`array(select unnest(array[receivable_account_id, payable_account_id]) from of_peer)`)}, settled as (
    select recorded.*, of_peer.*
      from recorded cross join of_peer where (select count(*) from locked_account) = 2
  ), ${settlementPosted}, ${appended(settledLowEvents)}
  select settlement_total.id from settlement_total join settlement_transfer on true`,
  { prepared: false }
)

/**
 * Records what a peer and the provider paid each other outside. Those with one peer must wait for each other, as acts of operators on the same
 * subject do: each has to see whether there is one like it.
 *
 * @returns false when there is one with its key already, or one with its peer, direction and reference and it is not another one
 */
export async function settlePeer(on: Queries, settlement: NewSettlement): Promise<boolean> {
  const { createdAtMs, value, idempotencyHash, requestHash, createdBy = null, ...rest } = settlement
  const rows = await SETTLE.rows(on, {
    ...rest,
    value: value.toString(),
    idempotencyHash: bytesText(idempotencyHash),
    requestHash: bytesText(requestHash),
    createdBy,
    now: instantText(createdAtMs)
  })
  return rows.length === 1
}

/** SHA-256 of what was asked for with an idempotency key; undefined when nothing was. */
export async function findSettlementRequest(
  on: Queries,
  idempotencyHash: Buffer
): Promise<Buffer | undefined> {
  const found = await on.peerSettlement.findUnique({
    where: { idempotencyHash: new Uint8Array(idempotencyHash) },
    select: { requestHash: true }
  })
  return found === null ? undefined : Buffer.from(found.requestHash)
}

/** Finds the first settlement with a peer in a direction that has a reference. */
export async function findFirstSettlement(
  on: Queries,
  { peerId, direction, reference }: SettlementIdentity
): Promise<Pick<NewSettlement, 'value' | 'createdAtMs'> | undefined> {
  const found = await on.peerSettlement.findFirst({
    where: { peerId, direction, reference },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    select: { value: true, createdAt: true }
  })
  if (found === null) return undefined
  return { value: BigInt(found.value.toFixed(0)), createdAtMs: found.createdAt.getTime() }
}
