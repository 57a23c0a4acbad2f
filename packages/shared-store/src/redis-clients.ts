import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { AddressConnector, NextConnector, PrimaryConnector } from './connectors.js'
import { addressesOf, credentialsOf, type RedisAddress, type RedisPlace } from './redis-place.js'
import { SentinelWatch } from './sentinel-watch.js'

const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 2_000
/** The same where another server takes over within seconds. */
const LAST_RETRY_OF_SEVERAL_MS = 250
/** How often the nodes of a cluster are asked who has what, in milliseconds; also whenever one is lost. */
const SLOTS_EVERY_MS = 1_000
/** How often connections that nothing else tests are tested: a server that hangs is left before another one takes its place. */
const TEST_EVERY_MS = 500
const REDIRECTIONS_MAX = 4

/** What is common to one server and a cluster. */
export type RedisClient = Redis | Cluster

/** A client, and the primary that it talks to, where sentinels decide who that is. */
export interface OpenedClient<Client extends RedisClient = RedisClient> {
  readonly client: Client
  /** The address of the current connection; undefined if no sentinels watch it. */
  readonly address: () => RedisAddress | undefined
}

/**
 * Opens clients of one Redis, whatever it consists of. They connect by themselves again, and send each command at most once: only the
 * caller knows whether a command may be repeated.
 */
export class RedisClients {
  readonly place: RedisPlace
  readonly #timeoutMs: number
  readonly #watch: SentinelWatch | undefined
  readonly #tests = new Set<NodeJS.Timeout>()

  constructor(place: RedisPlace, timeoutMs: number) {
    this.place = place
    this.#timeoutMs = timeoutMs
    this.#watch = place.topology === 'sentinel' ? new SentinelWatch(place, timeoutMs) : undefined
  }

  /** A client for commands. It connects when told to. */
  open(): OpenedClient {
    return this.place.topology === 'cluster'
      ? { client: this.#openCluster(), address: () => undefined }
      : this.openOne()
  }

  /** A client for subscriptions: on the primary, or on any node of a cluster, each of which has every message. */
  openOne(): OpenedClient<Redis> {
    const { place } = this
    const isTls = credentialsOf(place).tls !== undefined
    if (place.topology === 'single') {
      return { client: new Redis(place.urls[0], this.#options()), address: () => undefined }
    }
    const connector =
      this.#watch === undefined
        ? new NextConnector(addressesOf(place), isTls)
        : new PrimaryConnector(this.#watch, isTls)
    // The library wants a class, of which it makes one instance.
    function Connector(): typeof connector {
      return connector
    }
    const client = new Redis({
      ...this.#options(),
      ...credentialsOf(place),
      Connector: Connector as unknown as NonNullable<RedisOptions['Connector']>
    })
    return { client, address: () => connector.address }
  }

  /**
   * Resolves once it is known that a server was the primary; at once where no sentinels decide.
   *
   * @param leaseMs how long ago that may have been known
   * @throws Error if it was not, or nobody says so in time
   */
  async confirm(address: RedisAddress | undefined, leaseMs: number): Promise<void> {
    if (address !== undefined)
      await this.#watch?.confirm(address, leaseMs, AbortSignal.timeout(this.#timeoutMs))
  }

  /** Ends what the clients share. Each of them is closed by whoever opened it. */
  close(): void {
    this.#watch?.close()
    for (const test of this.#tests) clearInterval(test)
  }

  #options(): RedisOptions {
    const timeoutMs = this.#timeoutMs
    const isOne = this.place.topology === 'single'
    return {
      lazyConnect: true,
      Connector: AddressConnector,
      connectTimeout: timeoutMs,
      commandTimeout: timeoutMs,
      // If a server disappears silently, unanswered commands close the connection, and a new one is made.
      socketTimeout: timeoutMs,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      retryStrategy: (attempt) => retryAfterMs(attempt, isOne ? LAST_RETRY_MS : LAST_RETRY_OF_SEVERAL_MS)
    }
  }

  #openCluster(): Cluster {
    const cluster = new Cluster(addressesOf(this.place), {
      lazyConnect: true,
      clusterRetryStrategy: (attempt) => retryAfterMs(attempt, LAST_RETRY_OF_SEVERAL_MS),
      // Repeats what failed; redirections are followed, since what is redirected was not executed.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      maxRedirections: REDIRECTIONS_MAX,
      slotsRefreshInterval: SLOTS_EVERY_MS,
      slotsRefreshTimeout: this.#timeoutMs,
      // Certificates are for names.
      dnsLookup: (host, callback) => {
        callback(null, host)
      },
      // What is of no use here, the library leaves out: a cluster has one database, and looks for another node instead of retrying.
      redisOptions: { ...this.#options(), ...credentialsOf(this.place) }
    })
    this.#test(cluster)
    return cluster
  }

  #test(cluster: Cluster): void {
    const test = async (node: Redis): Promise<void> => {
      if (node.status !== 'ready') return
      try {
        await node.ping()
      } catch {
        node.disconnect()
        cluster.refreshSlotsCache()
      }
    }
    const timer = setInterval(() => {
      for (const node of cluster.nodes('master')) void test(node)
    }, TEST_EVERY_MS).unref()
    this.#tests.add(timer)
    cluster.on('-node', () => {
      if (cluster.status === 'ready') cluster.refreshSlotsCache()
    })
  }
}

function retryAfterMs(attempt: number, lastMs: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 10), lastMs)
}
