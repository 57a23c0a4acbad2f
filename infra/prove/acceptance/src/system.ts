import {
  composeAuthServer,
  loadConfig as loadAuthServerConfig,
  type RunningAuthServer
} from '@open-payments-server/auth-server'
import {
  composeResourceServer,
  loadConfig as loadResourceServerConfig,
  type RunningResourceServer
} from '@open-payments-server/resource-server'
import { createLogger, type Logger } from '@open-payments-server/runtime'
import { TestClock } from '@open-payments-server/testing'
import { type ConnectedSystem, connectToSystem } from './connect-system.js'
import { planSystem, type PlanOptions, type Settings } from './plan-system.js'
import type { ServiceName } from './service-name.js'

export { OPENING_BALANCE, type TestClient, type WalletName } from './connect-system.js'

/** Both services, running in this process over real HTTP, gRPC and PostgreSQL, and Redis where there are several of each. */
export interface System extends ConnectedSystem {
  /** The clock of every instance. */
  readonly clock: TestClock
  readonly runningAuthServers: readonly RunningAuthServer[]
  readonly runningResourceServers: readonly RunningResourceServer[]
  /** Stops every instance of the resource server, and starts it again with settings that are added or changed. */
  restartResourceServers(changed: Settings): Promise<void>
  /** Stops the services and drops their databases. */
  stop(): Promise<void>
}

/** How a system differs from the others. */
export interface SystemOptions extends PlanOptions {
  /** Where each service logs; nowhere unless given. */
  readonly loggerOf?: (service: ServiceName) => Logger
  /** Its clock, which several systems may share; one of its own unless given. */
  readonly clock?: TestClock
}

/** Starts both services on free ports, with alice and bob (USD), carol (EUR), and the clients shop and market. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const silent = createLogger({ service: 'acceptance', level: 'silent' })
  const { loggerOf = () => silent, clock = new TestClock() } = options
  const plan = await planSystem(options)
  const runningAuthServers = await Promise.all(
    plan.authServers.map(({ settings }) =>
      composeAuthServer(loadAuthServerConfig(settings), { clock, logger: loggerOf('auth-server') })
    )
  )
  const composeResourceServers = (changed: Settings): Promise<RunningResourceServer[]> =>
    Promise.all(
      plan.resourceServers.map(({ settings }) =>
        composeResourceServer(loadResourceServerConfig({ ...settings, ...changed }), {
          clock,
          logger: loggerOf('resource-server')
        })
      )
    )
  const runningResourceServers = await composeResourceServers({})
  const connected = await connectToSystem(plan, {
    clock,
    passSeconds(seconds) {
      clock.advanceSeconds(seconds)
      return Promise.resolve()
    }
  })
  return {
    ...connected,
    clock,
    runningAuthServers,
    runningResourceServers,
    async restartResourceServers(changed) {
      await Promise.all(runningResourceServers.splice(0).map((service) => service.stop()))
      runningResourceServers.push(...(await composeResourceServers(changed)))
    },
    async stop() {
      connected.close()
      await Promise.all(runningResourceServers.map((service) => service.stop()))
      await Promise.all(runningAuthServers.map((service) => service.stop()))
      await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    }
  }
}
