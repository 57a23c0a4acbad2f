import { systemClock } from '@open-payments-server/runtime'
import { type ConnectedSystem, connectToSystem } from './connect-system.js'
import { planSystem, type PlanOptions, type Settings, type SystemPlan } from './plan-system.js'
import { ServiceProcess } from './service-process.js'

/** Settings with which what takes minutes in production takes seconds. */
export const QUICK: Readonly<Record<'auth' | 'resource', Settings>> = {
  auth: { CONTINUATION_WAIT_SECONDS: '0', ACCESS_TOKEN_LIFETIME_SECONDS: '86400', LOG_LEVEL: 'warn' },
  resource: {
    AUTH_GRPC_DEADLINE_MS: '2000',
    PROCESSING_POLL_SECONDS: '1',
    SWEEP_INTERVAL_SECONDS: '1',
    ORPHAN_AGE_SECONDS: '2',
    APPROVAL_TIMEOUT_SECONDS: '3',
    LOG_LEVEL: 'warn'
  }
}

/** A system whose services run as in production: their builds, each in a process of its own. */
export interface ProcessSystem extends ConnectedSystem {
  /** What the services said last. */
  output(): string
  /** Stops the services and drops their databases. */
  stop(): Promise<void>
}

/** Starts every instance of both services as a process. They take their time from the machine, and need a build. */
export async function startProcessSystem(options: PlanOptions = {}): Promise<ProcessSystem> {
  const plan = await planSystem(options)
  const processes = [
    ...plan.authServers.map((instance) => new ServiceProcess({ service: 'auth-server', ...instance })),
    ...plan.resourceServers.map((instance) => new ServiceProcess({ service: 'resource-server', ...instance }))
  ]
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map((process) => process.stop()))
    await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
  }
  try {
    await Promise.all(processes.map((process) => process.start()))
    const connected = await connectInRealTime(plan)
    return {
      ...connected,
      output: () => processes.map(({ output }) => output).join('\n'),
      async stop() {
        connected.close()
        await stop()
      }
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Connects to a system whose services take their time from the machine. */
export function connectInRealTime(plan: SystemPlan): Promise<ConnectedSystem> {
  return connectToSystem(plan, {
    clock: systemClock,
    passSeconds: (seconds) =>
      seconds === 0 ? Promise.resolve() : Promise.reject(new Error('the real time does not pass on demand'))
  })
}
