import { randomUUID } from 'node:crypto'
import {
  type ConnectedSystem,
  connectInRealTime,
  eventually,
  planSystem,
  QUICK,
  type ServiceName,
  type Settings
} from '@open-payments-server/acceptance'
import type { CrashStep } from './crash-steps.js'
import { CrashableServices, DatabaseProxies } from './crashable-services.js'
import { WebhookWitness } from './webhook-witness.js'
import { requestApprovals } from './provider-decisions.js'

/** Both services as separate processes, each with a proxy in front of its database, which can be killed at any statement. */
export interface CrashSystem extends ConnectedSystem {
  /**
   * Prepares steps. Resolves once all were taken and every killed service runs again.
   *
   * @throws Error naming the point that no statement reached in time
   */
  crash(steps: readonly CrashStep<ServiceName>[]): Promise<void>
  /** Is told of all events. */
  readonly witness: WebhookWitness
  /** What the services said last. */
  output(): string
  stop(): Promise<void>
}

/**
 * Starts both services as processes, each with a proxy in front of its database.
 *
 * @param resource settings of the resource server, added or changed
 */
export async function startCrashSystem(resource: Settings = {}): Promise<CrashSystem> {
  const proxies = new DatabaseProxies()
  const settings = { auth: QUICK.auth, resource: { ...QUICK.resource, ...resource } }
  const plan = await planSystem({ ...settings, detours: proxies.detours })
  const services = new CrashableServices(proxies.services(plan, (service) => service))
  await services.start()
  const connected = await connectInRealTime(plan)
  const witness = await WebhookWitness.start(connected)
  await requestApprovals(connected)
  return {
    ...connected,
    witness,
    async crash(steps) {
      await services.crash(steps)
      await reconnected(connected)
    },
    output: () => services.output(),
    async stop() {
      connected.close()
      await witness.stop()
      await services.stop()
      await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    }
  }
}

/** Waits until the clients of a system, and its services, are connected again. */
export async function reconnected(system: ConnectedSystem): Promise<void> {
  await system.reconnected()
  await eventually('the resource server reaches the auth server', () => reachesAuthServer(system))
}

/** Whether a token is looked at: one of nobody is refused by the auth server. */
async function reachesAuthServer({ shop, resourceServerUrl }: ConnectedSystem): Promise<boolean> {
  const url = `${resourceServerUrl}/outgoing-payment-grant`
  const { status } = await shop.request('GET', url, { accessToken: randomUUID() })
  return status !== 503
}
