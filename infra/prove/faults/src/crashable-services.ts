import { type ServiceName, ServiceProcess, type SystemPlan } from '@open-payments-server/acceptance'
import type { CrashStep } from './crash-steps.js'
import { DatabaseProxy, type StoppedStatement } from './database-proxy.js'

/** Maximum wait for a step. */
const STEP_TIMEOUT_MS = 30_000

/** A service that can be killed at any of its statements. */
interface CrashableService {
  readonly process: ServiceProcess
  readonly proxy: DatabaseProxy
}

/** Services as separate processes, each with a proxy in front of its database, which can be killed at any statement. */
export class CrashableServices<Service extends string> {
  readonly #services: ReadonlyMap<Service, CrashableService>
  readonly #afterKill: (service: Service) => Promise<void>

  /**
   * @param services in the order in which they start
   * @param afterKill is waited for before a killed service starts again
   */
  constructor(
    services: ReadonlyMap<Service, CrashableService>,
    afterKill: (service: Service) => Promise<void> = () => Promise.resolve()
  ) {
    this.#services = services
    this.#afterKill = afterKill
  }

  /** Starts all of them; none if one does not start. */
  async start(): Promise<void> {
    try {
      for (const { process } of this.#services.values()) await process.start()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /**
   * Takes steps. Resolves once all were taken and every killed service runs again.
   *
   * @throws Error naming the point that no statement reached in time
   */
  async crash(steps: readonly CrashStep<Service>[]): Promise<void> {
    const arm = ({ at }: CrashStep<Service>): Promise<StoppedStatement> =>
      this.#of(at.of).proxy.stopAt(at, AbortSignal.timeout(STEP_TIMEOUT_MS))
    const delayed: StoppedStatement[] = []
    let next = steps[0] && arm(steps[0])
    for (const [index, { at, do: action }] of steps.entries()) {
      const statement = await next
      const following = steps[index + 1]
      // Prepared before anything continues, so that no statement passes unnoticed.
      next = following && arm(following)
      // Waited for only once this step is taken, which may fail first.
      next?.catch(() => undefined)
      if (action === 'delay') delayed.push(...(statement ? [statement] : []))
      else if (action === 'pass') statement?.release()
      // Statements of the killed service are lost; those of the others continue.
      else await this.restart(action.kill, () => action.kill !== at.of && statement?.release())
    }
    for (const statement of delayed) statement.release()
  }

  /**
   * Kills a service and starts it again.
   *
   * @param whileDown is called in between
   */
  async restart(name: Service, whileDown: () => unknown = () => undefined): Promise<void> {
    const { process } = this.#of(name)
    await process.kill()
    whileDown()
    await this.#afterKill(name)
    await process.start()
  }

  /** What they said last. */
  output(): string {
    return [...this.#services].map(([name, { process }]) => `${name}:\n${process.output}`).join('\n')
  }

  async stop(): Promise<void> {
    const all = [...this.#services.values()]
    await Promise.all(all.map(({ process }) => process.kill()))
    for (const { proxy } of all) await proxy.stop()
  }

  #of(name: Service): CrashableService {
    const service = this.#services.get(name)
    if (service === undefined) throw new Error(`there is no ${name} to crash`)
    return service
  }
}

/** Detours of a plan through a proxy in front of each database. They are complete once the plan is made. */
export class DatabaseProxies {
  readonly #proxies = new Map<ServiceName, DatabaseProxy>()
  readonly detours = {
    authDatabase: (url: string): Promise<string> => this.#through('auth-server', url),
    resourceDatabase: (url: string): Promise<string> => this.#through('resource-server', url)
  }

  /**
   * The services of a plan, which was made with these detours.
   *
   * @param nameOf what each is called
   */
  services<Service extends string>(
    plan: SystemPlan,
    nameOf: (service: ServiceName) => Service
  ): Map<Service, CrashableService> {
    const [authServer] = plan.authServers
    const [resourceServer] = plan.resourceServers
    if (authServer === undefined || resourceServer === undefined) throw new Error('the plan has no instances')
    const plans = { 'auth-server': authServer, 'resource-server': resourceServer }
    return new Map(
      [...this.#proxies]
        .toSorted(([one], [another]) => one.localeCompare(another))
        .map(([service, proxy]) => {
          const { settings, readyUrl } = plans[service]
          return [nameOf(service), { process: new ServiceProcess({ service, settings, readyUrl }), proxy }]
        })
    )
  }

  async #through(service: ServiceName, url: string): Promise<string> {
    const proxy = await DatabaseProxy.start(url)
    this.#proxies.set(service, proxy)
    return proxy.url
  }
}
