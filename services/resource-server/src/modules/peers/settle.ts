import { bytesText, instantText, placeholder, Statement } from '@open-payments-server/database'
import type { SettlementDirection } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import { lockedAccounts, settlementPosted } from '../ledger/index.js'

/** A settlement to be recorded. */
export interface NewSettlement {
  /** Id (UUID). */
  readonly id: string
  readonly peerId: string
  readonly direction: SettlementDirection
  /** Above 0. */
  readonly value: bigint
  readonly reference: string
  /** SHA-256 of the idempotency key. */
  readonly idempotencyHash: Buffer
  /** SHA-256 of everything that was asked for. */
  readonly requestHash: Buffer
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
    values (${placeholder('id')}::uuid, ${placeholder('peerId')}::uuid, ${placeholder('direction')}::text,
            ${placeholder('value')}::numeric, ${placeholder('reference')}::text, ${placeholder('idempotencyHash')}::bytea,
            ${placeholder('requestHash')}::bytea, ${placeholder('createdBy')}::text, ${placeholder('now')}::timestamptz)
    on conflict (idempotency_hash) do nothing
    returning id, peer_id, direction, value
  ), of_peer as (
    select p.receivable_account_id, p.payable_account_id, p.asset_id from recorded join peer p on p.id = recorded.peer_id
  ), ${lockedAccounts(Prisma.sql`array(select unnest(array[receivable_account_id, payable_account_id]) from of_peer)`)}, settled as (
    select recorded.id, recorded.direction, recorded.value, of_peer.*
      from recorded cross join of_peer where (select count(*) from locked_account) = 2
  ), ${settlementPosted}
  select settlement_total.id from settlement_total join settlement_transfer on true`,
  { prepared: false }
)

/**
 * Records what a peer and the provider paid each other outside.
 *
 * @returns false when there is one with its key already
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
