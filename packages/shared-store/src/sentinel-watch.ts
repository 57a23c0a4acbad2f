import { once, EventEmitter } from 'node:events'
import { Redis } from 'ioredis'
import { AddressConnector } from './connectors.js'
import { addressesOf, credentialsOf, type RedisAddress, type RedisPlace } from './redis-place.js'

/** How often each sentinel is asked, in milliseconds. */
const ASK_EVERY_MS = 200
/** Pause before a sentinel is connected to again, in milliseconds. */
const RETRY_MS = 500
/** How often it is reported that nobody knows the primary, in milliseconds. */
const LATE_MS = 2_000
/**
 * How long a primary is still taken for one after most sentinels said so, in milliseconds, counted from the question. Another one's
 * first mark waits that long: see `redis-marks.ts`.
 */
export const PRIMARY_LEASE_MS = 500

/** What a sentinel said, and when it was asked, by the monotonic clock. */
interface Answer {
  readonly address: string
  readonly askedAtMs: number
}

/**
 * Knows which server is the primary: the one that most of the sentinels name. Two majorities have a sentinel in common, so that
 * nobody can be told of a new primary while others are still told of the former one.
 */
export class SentinelWatch {
  readonly #place: RedisPlace
  readonly #sentinels: Redis[]
  readonly #answers = new Map<Redis, Answer>()
  readonly #asking = new Set<Redis>()
  readonly #events = new EventEmitter().setMaxListeners(0)
  readonly #timer: NodeJS.Timeout
  #primary: string | undefined
  #lastError: unknown

  constructor(place: RedisPlace, timeoutMs: number) {
    this.#place = place
    const { username, password } = place.sentinel ?? {}
    const { tls } = credentialsOf(place)
    this.#sentinels = addressesOf(place).map(
      (address) =>
        new Redis({
          ...address,
          username,
          password,
          ...(tls === undefined ? {} : { tls }),
          Connector: AddressConnector,
          connectTimeout: timeoutMs,
          commandTimeout: timeoutMs,
          socketTimeout: timeoutMs,
          enableReadyCheck: false,
          enableOfflineQueue: false,
          autoResendUnfulfilledCommands: false,
          maxRetriesPerRequest: 0,
          retryStrategy: () => RETRY_MS
        })
    )
    for (const sentinel of this.#sentinels) {
      // A lost sentinel is no error while the others agree; if they do not, whoever waits for them says so.
      sentinel.on('error', (error) => {
        this.#lastError = error
      })
      sentinel.on('ready', () => void this.#ask(sentinel))
    }
    this.#timer = setInterval(() => {
      this.#askAll()
    }, ASK_EVERY_MS).unref()
  }

  /** Calls back when another primary is named than before. */
  onChange(listener: () => void): void {
    this.#events.on('change', listener)
  }

  /** The address that most sentinels named last; undefined as long as they have not agreed. */
  get primary(): RedisAddress | undefined {
    return this.#primary === undefined ? undefined : parseAddress(this.#primary)
  }

  /**
   * The same, waiting for it.
   *
   * @param onLate called every two seconds meanwhile
   */
  async whenKnown(signal: AbortSignal, onLate: (error: Error) => void): Promise<RedisAddress> {
    let known = this.primary
    const timer = setInterval(() => {
      onLate(new Error('most of the sentinels name no primary', { cause: this.#lastError }))
    }, LATE_MS).unref()
    try {
      while (known === undefined) {
        await once(this.#events, 'answer', { signal })
        known = this.primary
      }
      return known
    } finally {
      clearInterval(timer)
    }
  }

  /**
   * Resolves once most sentinels have said that this server was the primary.
   *
   * @param leaseMs how long before this call they may have been asked
   * @throws Error when they name another one, or do not answer before the signal
   */
  async confirm(address: RedisAddress, leaseMs: number, signal: AbortSignal): Promise<void> {
    const named = textOf(address)
    const sinceMs = performance.now() - leaseMs
    while (named === this.#primary) {
      if (this.#agreedAtMs(named) >= sinceMs) return
      this.#askAll()
      await once(this.#events, 'answer', { signal })
    }
    throw new Error('the sentinels name another primary')
  }

  close(): void {
    clearInterval(this.#timer)
    for (const sentinel of this.#sentinels) sentinel.disconnect()
  }

  #askAll(): void {
    for (const sentinel of this.#sentinels) void this.#ask(sentinel)
  }

  async #ask(sentinel: Redis): Promise<void> {
    if (sentinel.status !== 'ready' || this.#asking.has(sentinel)) return
    this.#asking.add(sentinel)
    const askedAtMs = performance.now()
    try {
      const name = this.#place.sentinel?.name ?? ''
      const answer = await sentinel.call('SENTINEL', 'get-master-addr-by-name', name)
      if (!Array.isArray(answer)) throw new Error(`a sentinel knows no primary called ${name}`)
      const address = textOf({ host: String(answer[0]), port: Number(answer[1]) })
      this.#answers.set(sentinel, { address, askedAtMs })
      this.#learn(address)
    } catch (error) {
      // It is asked again.
      this.#lastError = error
    } finally {
      this.#asking.delete(sentinel)
      // Also without one, for those who wait for it to be asked once more.
      this.#events.emit('answer')
    }
  }

  #learn(address: string): void {
    const isAgreed = this.#agreedAtMs(address) > -Infinity
    const isOther = isAgreed && address !== this.#primary
    if (!isOther) return
    this.#primary = address
    this.#events.emit('change')
  }

  /** When the last majority was asked that named this address; -Infinity if most name another one, or none. */
  #agreedAtMs(address: string): number {
    const times = [...this.#answers.values()]
      .filter((answer) => answer.address === address)
      .map(({ askedAtMs }) => askedAtMs)
      .sort((one, other) => other - one)
    return times[Math.floor(this.#sentinels.length / 2)] ?? -Infinity
  }
}

function textOf({ host, port }: RedisAddress): string {
  return `${host} ${String(port)}`
}

function parseAddress(text: string): RedisAddress {
  const [host = '', port] = text.split(' ')
  return { host, port: Number(port) }
}
