import { placeholder } from '@open-payments-server/database'
import type { Peer } from '../../domain/peer.js'
import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import { findPeersById } from './read.js'

/** What was left of what a peer may owe. */
export interface LowLiquidity {
  /** Id (UUID). */
  readonly peerId: string
  readonly receivableValue: bigint
  /** What it may still owe; below 0 where it was paid more than that allows. */
  readonly leftValue: bigint
}

/** Fragment: selects the events of what {@link lowLiquidities} returns. Takes `now`. */
export const lowLiquidityEvents = Prisma.sql`
  select 'liquidity.low' as type, low.peer_id as subject_id,
         json_build_object('receivable_value', low.receivable_value, 'left_value', low.left_value) as change,
         ${placeholder('now')}::timestamptz as occurred_at
    from json_to_recordset(${placeholder('lowLiquidities')}::json) as low (peer_id uuid, receivable_value text, left_value text)`

/**
 * Fragment: selects the event of a peer that was paid, if that takes what it may still owe below what it alerts at. Reads the parts `settled`
 * (`direction`, `value`, `peer_id`, `receivable_account_id`, `payable_account_id`, `receivable_limit_value`, `low_alert_value`) and
 * `locked_account` (`id`, `balance`), its accounts before that. Takes `now`.
 */
export const settledLowEvents = Prisma.sql`
  select 'liquidity.low' as type, settled.peer_id as subject_id,
         json_build_object('receivable_value', (-receivable.balance)::text, 'left_value', (room.value - settled.value)::text) as change,
         ${placeholder('now')}::timestamptz as occurred_at
    from settled
    join locked_account receivable on receivable.id = settled.receivable_account_id
    join locked_account payable on payable.id = settled.payable_account_id
   cross join lateral (values (settled.receivable_limit_value + receivable.balance + payable.balance)) as room (value)
   where settled.direction = 'sent' and room.value >= settled.low_alert_value and room.value - settled.value < settled.low_alert_value`

/** The parameters of {@link lowLiquidityEvents}, except `now`. */
export function lowLiquidities(low: readonly LowLiquidity[]): { readonly lowLiquidities: string } {
  return {
    lowLiquidities: JSON.stringify(
      low.map(({ peerId, receivableValue, leftValue }) => ({
        peer_id: peerId,
        receivable_value: receivableValue.toString(),
        left_value: leftValue.toString()
      }))
    )
  }
}

/**
 * Fragment: selects the events of peers that the provider owes more than they alert at since a statement. Reads the part `dispatch_total`
 * (`account_id`, `value`, `added_value`), what it owes them and what of that is new. Takes `now`.
 */
export const highLiquidityEvents = Prisma.sql`
  select 'liquidity.high' as type, peer.id as subject_id, json_build_object('payable_value', total.value::text) as change,
         ${placeholder('now')}::timestamptz as occurred_at
    from dispatch_total total join peer on peer.payable_account_id = total.account_id
   where total.value > peer.high_alert_value and total.value - total.added_value <= peer.high_alert_value`

/** A peer as an event tells of it: of what it owes, or of what it is owed. */
export type ToldPeer = Pick<Peer, 'id' | 'name' | 'asset'> &
  ({ readonly receivableValue: bigint; readonly leftValue: bigint } | { readonly payableValue: bigint })

/** What an event keeps of a peer. */
type Change =
  { readonly receivable_value: string; readonly left_value: string } | { readonly payable_value: string }

/**
 * Reads peers as they were when something happened to them.
 *
 * @returns the peer of each event, in their order
 */
export async function readToldPeers(
  on: Queries,
  events: readonly StoredEvent[]
): Promise<readonly (ToldPeer | undefined)[]> {
  if (events.length === 0) return []
  const peers = await findPeersById(on, [...new Set(events.map(({ subjectId }) => subjectId))])
  const peerOf = new Map(peers.map((peer) => [peer.id, peer]))
  return events.map(({ subjectId, change }) => {
    const peer = peerOf.get(subjectId)
    const told = change as Change
    if (peer === undefined) return undefined
    const { id, name, asset } = peer
    return 'payable_value' in told
      ? { id, name, asset, payableValue: BigInt(told.payable_value) }
      : {
          ...{ id, name, asset },
          receivableValue: BigInt(told.receivable_value),
          leftValue: BigInt(told.left_value)
        }
  })
}
