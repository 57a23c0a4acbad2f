import { callUnary } from '@open-payments-server/grpc-transport'
import type { ConnectedSystem } from './connect-system.js'

/** An unknown packet may be decided so long after its expiry; here that time is not waited for. */
const DECIDABLE = `update sent_packet set expires_at = expires_at - interval '60 seconds'
 where outcome = 'unknown'
   and expires_at between $1::timestamptz - interval '60 seconds' and $1::timestamptz - interval '1 second'`
const UNDECIDED = `
  select encode(k.condition, 'hex') as condition, p.name from sent_packet k join peer p on p.id = k.peer_id
   where k.outcome = 'unknown' and k.expires_at < $1::timestamptz - interval '60 seconds'`

/**
 * Decides what became of each packet of which the sender knows nothing, as operators do: by what the receiver says that it
 * credited. Those that may still be under way are left alone, and those that cannot be decided now are looked at again later.
 */
export async function decideUnknownPackets({
  sender,
  receiver
}: {
  readonly sender: Pick<ConnectedSystem, 'resourceDatabase' | 'peers' | 'clock'>
  readonly receiver: Pick<ConnectedSystem, 'resourceDatabase'>
}): Promise<void> {
  // By the clock of the services, from which that of the database may be far.
  const now = [new Date(sender.clock.now())]
  await sender.resourceDatabase.query(DECIDABLE, now)
  const unknown = await sender.resourceDatabase.query<{ condition: string; name: string }>(UNDECIDED, now)
  for (const { condition, name } of unknown) {
    const credited = await receiver.resourceDatabase.query(
      `select 1 from received_packet where condition = decode($1, 'hex')`,
      [condition]
    )
    const packet = { name, condition: Buffer.from(condition, 'hex').toString('base64url') }
    const decision = { ...packet, arrived: credited.length > 0, arrivedValue: '' }
    // The service may be down, or be sending the payment: whether there is a decision shows when they are counted.
    await callUnary(sender.peers, 'decidePacket', decision, { idempotent: false }).catch(() => undefined)
  }
}
