import {
  connectInRealTime,
  type ConnectedSystem,
  peerSystems,
  planSystem,
  QUICK,
  type ServiceName,
  type SystemPlan
} from '@open-payments-server/acceptance'
import type { CrashStep } from './crash-steps.js'
import { CrashableServices, DatabaseProxies } from './crashable-services.js'
import { reconnected } from './crash-system.js'

/** A service of two systems that pay each other: by itself it is that of the sender. */
export type CrossingService = ServiceName | `receiving ${ServiceName}`

/** A way from one system to another. */
export interface CrossingDirection {
  /** Whose account holders pay. */
  readonly sender: ConnectedSystem
  /** Whose account holders are paid. */
  readonly receiver: ConnectedSystem
}

/** Two systems that are each other's peers, whose services can be killed at any statement. */
export interface CrossingSystem extends CrossingDirection {
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

/** Ways between two systems, through proxies that disturb them. Each takes and answers a port. */
export interface CrossingDetours {
  /** To where a system takes packets, of 127.0.0.1. */
  readonly packets?: (port: number) => Promise<number>
  /** To one of the two services of a system, as the other system reaches it: of localhost. */
  readonly documents?: (port: number) => Promise<number>
}

/** Payments take several packets, so that a crash finds some of them answered. */
const PACKET_LIMIT_VALUE = 40n

/** Starts both services of two systems as processes, each with a proxy in front of its database. */
export async function startCrossingSystem(ways: CrossingDetours = {}): Promise<CrossingSystem> {
  const { packets = straight, documents = straight } = ways
  const sending = new DatabaseProxies()
  const receiving = new DatabaseProxies()
  const planOf = ({ detours }: DatabaseProxies): Promise<SystemPlan> =>
    planSystem({ ...QUICK, detours: { ...detours, publicHttp: documents } })
  const sendingPlan = await planOf(sending)
  const receivingPlan = await planOf(receiving)
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
  const endpointOf = async ({ peering }: ConnectedSystem): Promise<string> =>
    `http://127.0.0.1:${String(await packets(Number(new URL(peering.ilpEndpoint).port)))}/`
  const [toSender, toReceiver] = [await endpointOf(sender), await endpointOf(receiver)]
  await peerSystems(sender, receiver, {
    packetLimitValue: PACKET_LIMIT_VALUE,
    endpointOf: (peer) => (peer === receiver ? toReceiver : toSender)
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

function straight(port: number): Promise<number> {
  return Promise.resolve(port)
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
export async function countDecided({ sender }: Pick<CrossingDirection, 'sender'>): Promise<DecidedPackets> {
  const [row] = await sender.resourceDatabase.query<DecidedPackets>(
    `select count(*) filter (where outcome = 'fulfilled')::int as arrived, count(*) filter (where outcome = 'rejected')::int as lost
       from sent_packet where decided_by is not null`
  )
  return row ?? { arrived: 0, lost: 0 }
}
