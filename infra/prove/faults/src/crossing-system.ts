import {
  connectInRealTime,
  type ConnectedSystem,
  PEER_NAME,
  peerSystems,
  planSystem,
  QUICK,
  type ServiceName
} from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { CrashStep } from './crash-steps.js'
import { CrashableServices, DatabaseProxies } from './crashable-services.js'
import { reconnected } from './crash-system.js'

/** A service of two systems that pay each other: by itself it is that of the sender. */
export type CrossingService = ServiceName | `receiving ${ServiceName}`

/** Two systems that are each other's peers, whose services can be killed at any statement. */
export interface CrossingSystem {
  /** Whose account holders pay. */
  readonly sender: ConnectedSystem
  /** Whose account holders are paid. */
  readonly receiver: ConnectedSystem
  /**
   * Prepares steps. Resolves once all were taken and every killed service runs again.
   *
   * @throws Error naming the point that no statement reached in time
   */
  crash(steps: readonly CrashStep<CrossingService>[]): Promise<void>
  /** Makes the sender forget its token of the receiver's auth server, as if it had never paid there. */
  forgetGrants(): Promise<void>
  /** What the services said last. */
  output(): string
  stop(): Promise<void>
}

/** Payments take several packets, so that a crash finds some of them answered. */
const PACKET_LIMIT_VALUE = 40n

/**
 * Starts both services of two systems as processes, each with a proxy in front of its database.
 *
 * @param detour a way for packets to the receiver, through a proxy that disturbs them. Takes and answers a port of 127.0.0.1
 */
export async function startCrossingSystem(
  detour: (port: number) => Promise<number> = (port) => Promise.resolve(port)
): Promise<CrossingSystem> {
  const sending = new DatabaseProxies()
  const receiving = new DatabaseProxies()
  const sendingPlan = await planSystem({ ...QUICK, detours: sending.detours })
  const receivingPlan = await planSystem({ ...QUICK, detours: receiving.detours })
  const services = new CrashableServices<CrossingService>(
    new Map([
      ...receiving.services<CrossingService>(receivingPlan, (service) => `receiving ${service}`),
      ...sending.services<CrossingService>(sendingPlan, (service) => service)
    ]),
    // A payment is the killed process's until its lease ends, which takes longer than everything else here.
    async (service) => {
      if (service === 'resource-server') await endLeases(sendingPlan)
    }
  )
  await services.start()
  const sender = await connectInRealTime(sendingPlan)
  const receiver = await connectInRealTime(receivingPlan)
  const port = await detour(Number(new URL(receiver.peering.ilpEndpoint).port))
  await peerSystems(sender, receiver, {
    packetLimitValue: PACKET_LIMIT_VALUE,
    endpointOf: (peer) => (peer === receiver ? `http://127.0.0.1:${String(port)}/` : peer.peering.ilpEndpoint)
  })
  const systems = [sender, receiver]
  return {
    sender,
    receiver,
    async crash(steps) {
      await services.crash(steps)
      await Promise.all(systems.map(reconnected))
    },
    async forgetGrants() {
      await sender.resourceDatabase.query('delete from provider_grant')
      await services.restart('resource-server')
      await reconnected(sender)
    },
    output: () => services.output(),
    async stop() {
      for (const system of systems) system.close()
      await services.stop()
      await Promise.all(
        systems.flatMap(({ authDatabase, resourceDatabase }) => [
          authDatabase.drop(),
          resourceDatabase.drop()
        ])
      )
    }
  }
}

async function endLeases({ resourceDatabase }: Pick<ConnectedSystem, 'resourceDatabase'>): Promise<void> {
  await resourceDatabase.query('update sending set leased_until = now() where leased_until > now()')
}

/** What became of packets that were decided. */
export interface DecidedPackets {
  readonly arrived: number
  readonly lost: number
}

/** How many packets were decided so far. */
export async function countDecided({ sender }: Pick<CrossingSystem, 'sender'>): Promise<DecidedPackets> {
  const [row] = await sender.resourceDatabase.query<DecidedPackets>(
    `select count(*) filter (where outcome = 'fulfilled')::int as arrived, count(*) filter (where outcome = 'rejected')::int as lost
       from sent_packet where decided_by is not null`
  )
  return row ?? { arrived: 0, lost: 0 }
}

/** An unknown packet may be decided so long after its expiry; here that time is not waited for. */
const DECIDABLE = `update sent_packet set expires_at = expires_at - interval '60 seconds'
 where outcome = 'unknown' and expires_at between now() - interval '60 seconds' and now() - interval '1 second'`
const UNDECIDED = `
  select encode(condition, 'hex') as condition from sent_packet
   where outcome = 'unknown' and expires_at < now() - interval '60 seconds'`

/**
 * Decides what became of each packet of which the sender knows nothing, as operators do: by what the receiver says that it
 * credited. Those that may still be under way are left alone, and those that cannot be decided now are looked at again later.
 */
export async function decideUnknownPackets({
  sender,
  receiver
}: Pick<CrossingSystem, 'sender' | 'receiver'>): Promise<void> {
  await sender.resourceDatabase.query(DECIDABLE)
  const unknown = await sender.resourceDatabase.query<{ condition: string }>(UNDECIDED)
  for (const { condition } of unknown) {
    const credited = await receiver.resourceDatabase.query(
      `select 1 from received_packet where condition = decode($1, 'hex')`,
      [condition]
    )
    const packet = { name: PEER_NAME, condition: Buffer.from(condition, 'hex').toString('base64url') }
    const decision = { ...packet, arrived: credited.length > 0 }
    // The service may be down, or be sending the payment: whether there is a decision shows when they are counted.
    await callUnary(sender.peers, 'decidePacket', decision, { idempotent: false }).catch(() => undefined)
  }
}
