import { setTimeout as delay } from 'node:timers/promises'
import {
  type ConnectedSystem,
  connectToSystem,
  planSystem,
  runMigration,
  type ServiceName,
  ServiceProcess,
  type ServiceProcessOptions,
  type Settings,
  type SystemPlan
} from '@open-payments-server/acceptance'
import { findFreePort, NameServer } from '@open-payments-server/local-services'
import { systemClock } from '@open-payments-server/runtime'
import { scrapeMetrics } from '@open-payments-server/testing'
import { Balancer } from './balancer.js'
import { CountedRequests } from './counted-requests.js'
import { TcpBalancer } from './tcp-balancer.js'

/** Options of a fleet. */
export interface FleetOptions {
  /** Folder of the checkout whose builds run first, and whose migrations the databases have. */
  readonly root: string
  /** How long a replica keeps running without new requests before it is stopped, as with `preStop`, in milliseconds. */
  readonly preStopMs: number
  /** PostgreSQL of both databases, as a superuser; default: that of the test run. */
  readonly postgresUrl?: string
  /** Settings of the auth server, added or changed. */
  readonly auth?: Settings
  /** Settings of the resource server, added or changed. */
  readonly resource?: Settings
}

const SERVICES = ['auth-server', 'resource-server'] as const
const REPLICAS = 2
/** The one name that may be used without TLS. Our name server resolves it to the replicas. */
const AUTH_NAME = 'localhost'
/** Each replica has its own address, and the same ports as the others of its service. */
const FIRST_HOST_NUMBER = 10

/** More replicas than are ever created. */
const REQUESTS_MAX = 1_000_000
/** Requests are counted, and none are refused. */
const COUNTED: Settings = {
  RATE_LIMITS: 'true',
  RATE_LIMIT_ADDRESS_REQUESTS: String(REQUESTS_MAX),
  RATE_LIMIT_ADDRESS_SECONDS: '86400',
  RATE_LIMIT_CLIENT_REQUESTS: String(REQUESTS_MAX),
  RATE_LIMIT_WALLET_ADDRESS_REQUESTS: String(REQUESTS_MAX),
  TRUSTED_PROXIES: '1'
}
/** A replica counts alone if Redis does not answer in time. */
const COUNTED_SHARE_MIN = 0.9
const QUICK: Settings = { LOG_LEVEL: 'warn', REPLICA_COUNT: String(REPLICAS), ...COUNTED }
const QUICK_AUTH: Settings = { CONTINUATION_WAIT_SECONDS: '0', ACCESS_TOKEN_LIFETIME_SECONDS: '86400' }
const QUICK_RESOURCE: Settings = {
  PROCESSING_POLL_SECONDS: '1',
  // Keeps reservations that the load makes itself from being given up.
  ORPHAN_AGE_SECONDS: '3600',
  // Without it, grpc-js uses the system's resolver instead of the name server in AUTH_GRPC_TARGET.
  GRPC_NODE_USE_ALTERNATIVE_RESOLVER: 'true'
}

/** A replica. */
interface ReplicaOptions extends ServiceProcessOptions {
  /** Its own address on this machine, like a pod's. */
  readonly host: string
}

type Replica = ServiceProcess<ReplicaOptions>

/** Two replicas of each service as processes, with equivalents of Kubernetes' load balancers and name server in front. */
export class Fleet {
  readonly system: ConnectedSystem
  readonly #plan: SystemPlan
  readonly #preStopMs: number
  readonly #counted: CountedRequests
  readonly #front: Front
  readonly #replicas: Record<ServiceName, Replica[]>

  private constructor(
    parts: {
      system: ConnectedSystem
      plan: SystemPlan
      front: Front
      counted: CountedRequests
      replicas: Record<ServiceName, Replica[]>
    },
    preStopMs: number
  ) {
    this.system = parts.system
    this.#plan = parts.plan
    this.#front = parts.front
    this.#counted = parts.counted
    this.#replicas = parts.replicas
    this.#preStopMs = preStopMs
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const { root, preStopMs, postgresUrl } = options
    const redisUrl = process.env.TEST_REDIS_URL
    if (redisUrl === undefined) throw new Error('replicas need Redis: TEST_REDIS_URL is not set')
    const names = await NameServer.start()
    const counted = new CountedRequests(redisUrl)
    const shared = { ...QUICK, REDIS_URL: redisUrl, METRICS_PORT: String(await findFreePort()) }
    const plan = await planSystem({
      root,
      ...(postgresUrl === undefined ? {} : { postgresUrl }),
      auth: { ...shared, ...QUICK_AUTH, ...options.auth },
      resource: { ...shared, ...QUICK_RESOURCE, ...options.resource }
    })
    const front = await Front.start(plan, names, counted.clientAddress)
    const replicas: Record<ServiceName, Replica[]> = { 'auth-server': [], 'resource-server': [] }
    try {
      for (const service of SERVICES) {
        const fresh = Array.from({ length: REPLICAS }, () => front.createReplica(service, root))
        replicas[service].push(...fresh)
        await Promise.all(fresh.map((replica) => replica.start()))
        front.announce(service, fresh)
      }
      const system = await connectToSystem(plan, {
        clock: systemClock,
        passSeconds: () => Promise.resolve()
      })
      return new Fleet({ system, plan, front, counted, replicas }, preStopMs)
    } catch (error) {
      await Promise.all(Object.values(replicas).flatMap((all) => all.map((replica) => replica.kill())))
      await front.stop()
      throw error
    }
  }

  /**
   * Replaces the replicas of a service one after the other, as a Deployment without `maxUnavailable` does: a new one starts
   * and is ready before an old one goes.
   *
   * @param root folder of the checkout whose build takes over
   * @param preStopMs how long an old one goes on without new requests; default: as the fleet was started
   * @throws Error when one does not start, or does not stop as it should
   */
  async roll(service: ServiceName, root: string, preStopMs = this.#preStopMs): Promise<void> {
    for (const old of [...this.#replicas[service]]) {
      const fresh = this.#front.createReplica(service, root)
      await fresh.start()
      const others = this.#replicas[service].filter((replica) => replica !== old)
      this.#replicas[service] = [...others, fresh]
      this.#front.announce(service, this.#replicas[service])
      await delay(preStopMs)
      const exit = await old.stop()
      if (exit !== 'exit 0') throw new Error(`${service} stopped with ${exit}:\n${old.output}`)
    }
  }

  /**
   * Adds an auth server that can be found only through the name server, so that all its calls come from resource servers.
   *
   * @param root folder of the checkout whose build it runs
   */
  async addAuthServer(root: string): Promise<void> {
    const fresh = this.#front.createReplica('auth-server', root)
    await fresh.start()
    this.#replicas['auth-server'].push(fresh)
    this.#front.announceName(this.#replicas['auth-server'])
  }

  /**
   * Sums of counters for each replica of a service, the one added last at the end.
   *
   * @param series matches the series that are summed, such as `/^calls_total\{kind="yes"/`
   */
  count(service: ServiceName, series: RegExp): Promise<number[]> {
    return Promise.all(
      this.#replicas[service].map(async ({ options: { host, settings } }) => {
        const { text } = await scrapeMetrics(Number(settings.METRICS_PORT), host)
        const lines = text.split('\n').filter((line) => series.test(line))
        return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
      })
    )
  }

  /**
   * Migrates both databases to the schema of a checkout while everything runs.
   *
   * @throws Error with the output of a failed migration
   */
  async migrate(root: string): Promise<void> {
    for (const service of SERVICES) {
      const { end, output } = await runMigration(this.#front.createReplica(service, root).options)
      if (end !== 'exit 0') throw new Error(`the migration of ${service} ended with ${end}:\n${output}`)
    }
  }

  /**
   * Checks the number of requests that the replicas of each service have counted together.
   *
   * @returns one sentence for each service that counted some twice, or missed many
   */
  async findMiscounts(): Promise<string[]> {
    const found = await Promise.all(
      SERVICES.map(async (service) => {
        const counted = await this.#counted.at(service)
        const sent = this.#front.requestCountOf(service)
        if (counted <= sent && counted >= sent * COUNTED_SHARE_MIN) return []
        return [`${service} counted ${String(counted)} of ${String(sent)} requests`]
      })
    )
    return found.flat()
  }

  /** Number of HTTP requests so far. */
  get requestCount(): number {
    return this.#front.requestCount
  }

  /** Failures of the load balancers, one sentence each. */
  get failures(): string[] {
    return this.#front.failures
  }

  /** Last output of the running replicas. */
  get output(): string {
    return Object.values(this.#replicas)
      .flat()
      .map(({ options, output }) => `${options.service} at ${options.host}:\n${output}`)
      .join('\n')
  }

  async stop(): Promise<void> {
    this.system.close()
    await Promise.all(Object.values(this.#replicas).flatMap((all) => all.map((replica) => replica.kill())))
    await this.#front.stop()
    await Promise.all([this.#plan.authDatabase.drop(), this.#plan.resourceDatabase.drop()])
  }
}

/** The load balancers and the name server, at the addresses that the plan has for a single replica. */
class Front {
  #hostNumber = FIRST_HOST_NUMBER
  readonly #plan: SystemPlan
  readonly #names: NameServer
  readonly #http: Record<ServiceName | 'identity provider', Balancer>
  readonly #grpc: Record<ServiceName, TcpBalancer>

  private constructor(
    plan: SystemPlan,
    names: NameServer,
    http: Record<ServiceName | 'identity provider', Balancer>,
    grpc: Record<ServiceName, TcpBalancer>
  ) {
    this.#plan = plan
    this.#names = names
    this.#http = http
    this.#grpc = grpc
  }

  static async start(plan: SystemPlan, names: NameServer, clientAddress: string): Promise<Front> {
    const { auth, resource } = instancesOf(plan)
    return new Front(
      plan,
      names,
      {
        'auth-server': await Balancer.start('localhost', auth.httpPort, clientAddress),
        'identity provider': await Balancer.start('127.0.0.1', auth.identityProviderPort, clientAddress),
        'resource-server': await Balancer.start('localhost', resource.httpPort, clientAddress)
      },
      {
        'auth-server': await TcpBalancer.start('127.0.0.1', auth.grpcPort),
        'resource-server': await TcpBalancer.start('127.0.0.1', resource.grpcPort)
      }
    )
  }

  /** Plans another replica, which does not run yet. */
  createReplica(service: ServiceName, root: string): Replica {
    const host = `127.0.0.${String(this.#hostNumber)}`
    this.#hostNumber += 1
    const { auth, resource } = instancesOf(this.#plan)
    if (service === 'auth-server') {
      const settings = {
        ...auth.settings,
        HTTP_HOST: host,
        IDENTITY_PROVIDER_HOST: host,
        GRPC_HOST: host,
        METRICS_HOST: host
      }
      const readyUrl = `http://${host}:${String(auth.identityProviderPort)}/readyz`
      return new ServiceProcess({ service, root, host, settings, readyUrl })
    }
    const settings = {
      ...resource.settings,
      HTTP_HOST: host,
      GRPC_HOST: host,
      ILP_HOST: host,
      METRICS_HOST: host,
      AUTH_GRPC_TARGET: `dns://${this.#names.authority}/${AUTH_NAME}:${String(auth.grpcPort)}`
    }
    const readyUrl = `http://${host}:${String(resource.httpPort)}/readyz`
    return new ServiceProcess({ service, root, host, settings, readyUrl })
  }

  /** From now on all traffic goes to these replicas. */
  announce(service: ServiceName, replicas: readonly Replica[]): void {
    const { auth, resource } = instancesOf(this.#plan)
    const hosts = replicas.map(({ options }) => options.host)
    const at = (port: number) => hosts.map((host) => ({ host, port }))
    const { httpPort, grpcPort } = service === 'auth-server' ? auth : resource
    this.#http[service].announce(at(httpPort))
    this.#grpc[service].announce(at(grpcPort))
    if (service === 'resource-server') return
    this.#http['identity provider'].announce(at(auth.identityProviderPort))
    this.announceName(replicas)
  }

  /** From now on the auth server's name resolves to these replicas. */
  announceName(replicas: readonly Replica[]): void {
    this.#names.announce(replicas.map(({ options }) => options.host))
  }

  /** Number of client requests to a service so far. */
  requestCountOf(service: ServiceName): number {
    return this.#http[service].requestCount
  }

  get requestCount(): number {
    return Object.values(this.#http).reduce((sum, { requestCount }) => sum + requestCount, 0)
  }

  get failures(): string[] {
    return Object.values(this.#http).flatMap(({ failures }) => failures)
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#http).map((balancer) => balancer.stop()))
    for (const balancer of Object.values(this.#grpc)) balancer.stop()
    this.#names.stop()
  }
}

function instancesOf({ authServers, resourceServers }: SystemPlan) {
  const [auth] = authServers
  const [resource] = resourceServers
  if (auth === undefined || resource === undefined) throw new Error('the plan has no instances')
  return { auth, resource }
}
