import type { Acting } from '@open-payments-server/service-kit/operators'
import { type Asset, describeAmount } from '@open-payments-server/value-types/amounts'
import { newId } from '@open-payments-server/value-types/identifiers'
import { assertCallKey, readPositiveCallValue } from '../../domain/call-fields.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { sha256 } from '../../domain/idempotency.js'
import type { SettlementDirection } from '../../domain/peer.js'
import type { Queries } from '../../modules/database.js'
import * as peers from '../../modules/peers/index.js'
import type { PeerWithTokens } from '../../modules/peers/index.js'
import type { PeerDependencies } from './dependencies.js'
import { getPeer, requirePeer } from './peers.js'

/** No control characters: a statement shows it. */
const REFERENCE = /^[^\p{Cc}\p{Cf}\p{Cs}]{1,140}$/u

/** A request to record a settlement. */
export interface SettlementOrder {
  readonly name: string
  readonly direction: SettlementDirection
  /** As a decimal string in units of the peer's asset; above 0. */
  readonly value: string
  /** What the bank calls it. */
  readonly reference: string
  readonly idempotencyKey: string
  /** Whether it is another one, where one with its peer and direction has the reference already. */
  readonly isAnother: boolean
  /** Names of whoever records it; undefined if they are not known. */
  readonly by: string | undefined
}

/**
 * Records what a peer and the provider paid each other outside. The same key with the same content has no further effect.
 *
 * @returns the peer after it
 * @throws CallRefused `invalid`, `not-found`, or `already-exists` for the key with other content, and for a reference that another one has
 */
export async function settlePeer(
  order: SettlementOrder,
  dependencies: PeerDependencies & Acting
): Promise<PeerWithTokens> {
  const { name, direction, reference, idempotencyKey, isAnother, by } = order
  const { database, clock, random, onUnchanged } = dependencies
  const value = readPositiveCallValue(order.value, 'value')
  if (!REFERENCE.test(reference)) {
    throw invalidCallField('reference', 'must be 1 to 140 characters, none of them a control character')
  }
  assertCallKey(idempotencyKey, 'key')
  const { id: peerId, asset } = await requirePeer(name, database)
  const idempotencyHash = sha256(idempotencyKey)
  const requestHash = sha256(`${peerId}\n${direction}\n${String(value)}\n${reference}`)
  const recorded = await peers.settlePeer(database, {
    id: newId(clock, random),
    peerId,
    direction,
    value,
    reference,
    idempotencyHash,
    requestHash,
    isAnother,
    createdBy: by,
    createdAtMs: clock.now()
  })
  if (!recorded) {
    const before = await peers.findSettlementRequest(database, idempotencyHash)
    if (before === undefined) throw await referenceTaken({ peerId, direction, reference }, asset, database)
    if (!before.equals(requestHash)) {
      throw new CallRefused('already-exists', 'another settlement has this key', { field: 'key' })
    }
    onUnchanged()
  }
  return getPeer(name, dependencies)
}

/** The refusal of a settlement whose reference another one has: most likely it was recorded before. */
async function referenceTaken(
  settlement: peers.SettlementIdentity,
  asset: Asset,
  database: Queries
): Promise<CallRefused> {
  const first = await peers.findFirstSettlement(database, settlement)
  if (first === undefined) throw new Error('a settlement was not recorded, and nothing is in its way')
  const { value, createdAtMs } = first
  return new CallRefused(
    'already-exists',
    `a settlement with this reference was recorded at ${new Date(createdAtMs).toISOString()}, of ${describeAmount({ value, asset })}: if this is another one, say so`,
    { field: 'reference' }
  )
}
