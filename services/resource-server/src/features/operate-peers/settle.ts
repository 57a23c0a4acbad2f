import { newId } from '@open-payments-server/value-types/identifiers'
import { assertCallKey, readPositiveCallValue } from '../../domain/call-fields.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { sha256 } from '../../domain/idempotency.js'
import type { SettlementDirection } from '../../domain/peer.js'
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
  /** Names of whoever records it; undefined if they are not known. */
  readonly by: string | undefined
}

/**
 * Records what a peer and the provider paid each other outside. The same key with the same content has no further effect.
 *
 * @returns the peer after it
 * @throws CallRefused `invalid`, `not-found`, or `already-exists` for the key with other content
 */
export async function settlePeer(
  order: SettlementOrder,
  dependencies: PeerDependencies
): Promise<PeerWithTokens> {
  const { name, direction, reference, idempotencyKey, by } = order
  const { database, clock, random } = dependencies
  const value = readPositiveCallValue(order.value, 'value')
  if (!REFERENCE.test(reference)) {
    throw invalidCallField('reference', 'must be 1 to 140 characters, none of them a control character')
  }
  assertCallKey(idempotencyKey, 'key')
  const { id: peerId } = await requirePeer(name, database)
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
    createdBy: by,
    createdAtMs: clock.now()
  })
  if (!recorded) {
    const before = await peers.findSettlementRequest(database, idempotencyHash)
    if (before?.equals(requestHash) !== true) {
      throw new CallRefused('already-exists', 'another settlement has this key', { field: 'key' })
    }
  }
  return getPeer(name, dependencies)
}
