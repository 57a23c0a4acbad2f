import {
  type ConnectedSystem,
  connectToSystem,
  planSystem,
  type ServiceName,
  ServiceProcess,
  type SystemPlan
} from '@open-payments-server/acceptance'
import { systemClock } from '@open-payments-server/runtime'
import type { CrashStep } from './crash-points.js'
import { DatabaseProxy, type StoppedStatement } from './database-proxy.js'
import { WebhookWitness } from './webhook-witness.js'
import { requestApprovals } from './provider-decisions.js'

/** Both services as separate processes, each with a proxy in front of its database, which can be killed at any statement. */
export interface CrashSystem extends ConnectedSystem {
  /**
   * Prepares steps. Resolves once all were taken and every killed service runs again.
   *
   * @throws Error naming the point that no statement reached in time
   */
  crash(steps: readonly CrashStep[]): Promise<void>
  /** Is told of all events. */
  readonly witness: WebhookWitness
  /** What the services said last. */
  output(): string
  stop(): Promise<void>
}

// Short, so that what takes minutes in production takes seconds.
const QUICK_RESOURCE_SERVER = {
  AUTH_GRPC_DEADLINE_MS: '2000',
  PROCESSING_POLL_SECONDS: '1',
  SWEEP_INTERVAL_SECONDS: '1',
  ORPHAN_AGE_SECONDS: '2',
  APPROVAL_TIMEOUT_SECONDS: '3',
  LOG_LEVEL: 'warn'
}
const QUICK_AUTH_SERVER = {
  CONTINUATION_WAIT_SECONDS: '0',
  ACCESS_TOKEN_LIFETIME_SECONDS: '86400',
  LOG_LEVEL: 'warn'
}
/** Maximum wait for a step. */
const STEP_TIMEOUT_MS = 30_000

/** Starts both services as processes, each with a proxy in front of its database. */
export async function startCrashSystem(): Promise<CrashSystem> {
  const proxies = new Map<ServiceName, DatabaseProxy>()
  const through = (service: ServiceName) => async (url: string) => {
    const proxy = await DatabaseProxy.start(url)
    proxies.set(service, proxy)
    return proxy.url
  }
  const plan = await planSystem({
    auth: QUICK_AUTH_SERVER,
    resource: QUICK_RESOURCE_SERVER,
    detours: { authDatabase: through('auth-server'), resourceDatabase: through('resource-server') }
  })
  const processes = planProcesses(plan)
  await startAll(processes)
  const connected = await connectToSystem(plan, {
    clock: systemClock,
    passSeconds: (seconds) =>
      seconds === 0 ? Promise.resolve() : Promise.reject(new Error('the real time does not pass on demand'))
  })
  const witness = await WebhookWitness.start(connected)
  await requestApprovals(connected)
  return {
    ...connected,
    witness,
    async crash(steps) {
      await takeSteps(steps, proxies, processes)
      // Broken connections pause before they reconnect.
      await Promise.all([connected.operator, connected.limits].map(ready))
    },
    output: () =>
      Object.entries(processes)
        .map(([name, { output }]) => `${name}:\n${output}`)
        .join('\n'),
    async stop() {
      connected.close()
      await witness.stop()
      await Promise.all(Object.values(processes).map((service) => service.kill()))
      for (const proxy of proxies.values()) await proxy.stop()
      await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    }
  }
}

function ready(client: ConnectedSystem['operator' | 'limits']): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Date.now() + STEP_TIMEOUT_MS, (error) => {
      if (error === undefined) resolve()
      else reject(error)
    })
  })
}

type Processes = Readonly<Record<ServiceName, ServiceProcess>>

function planProcesses(plan: SystemPlan): Processes {
  const [authServer] = plan.authServers
  const [resourceServer] = plan.resourceServers
  if (authServer === undefined || resourceServer === undefined) throw new Error('the plan has no instances')
  return {
    'auth-server': new ServiceProcess({
      service: 'auth-server',
      settings: authServer.settings,
      readyUrl: `http://127.0.0.1:${String(authServer.identityProviderPort)}/readyz`
    }),
    'resource-server': new ServiceProcess({
      service: 'resource-server',
      settings: resourceServer.settings,
      readyUrl: `http://localhost:${String(resourceServer.httpPort)}/readyz`
    })
  }
}

async function startAll(processes: Processes): Promise<void> {
  try {
    await processes['auth-server'].start()
    await processes['resource-server'].start()
  } catch (error) {
    await Promise.all(Object.values(processes).map((service) => service.kill()))
    throw error
  }
}

async function takeSteps(
  steps: readonly CrashStep[],
  proxies: ReadonlyMap<ServiceName, DatabaseProxy>,
  processes: Processes
): Promise<void> {
  const arm = ({ at }: CrashStep): Promise<StoppedStatement> | undefined =>
    proxies.get(at.of)?.stopAt(at, AbortSignal.timeout(STEP_TIMEOUT_MS))
  const delayed: StoppedStatement[] = []
  let next = steps[0] && arm(steps[0])
  for (const [index, { at, do: action }] of steps.entries()) {
    const statement = await next
    if (statement === undefined) throw new Error(`the database of the ${at.of} is not proxied`)
    const following = steps[index + 1]
    // Prepared before anything continues, so that no statement passes unnoticed.
    next = following && arm(following)
    // Waited for only once this step is taken, which may fail first.
    next?.catch(() => undefined)
    if (action === 'delay') delayed.push(statement)
    else if (action === 'pass') statement.release()
    else {
      await processes[action.kill].kill()
      // Statements of the killed service are lost; those of the other continue.
      if (action.kill !== at.of) statement.release()
      await processes[action.kill].start()
    }
  }
  for (const statement of delayed) statement.release()
}
