import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector, type RedisOptions } from 'ioredis'
import { REDIS_PORT, type RedisAddress } from './redis-place.js'

/** Where a connector may be told to connect to. */
type FindAddress = (signal: AbortSignal, onLate: (error: Error) => void) => Promise<RedisAddress>

/** Connects to an address that is found anew each time. */
class FindingConnector extends AbstractConnector {
  readonly #find: FindAddress
  readonly #isTls: boolean
  #closing = new AbortController()
  /** Where it is connected to, or was last. */
  address: RedisAddress | undefined

  constructor(find: FindAddress, isTls: boolean) {
    super(0)
    this.#find = find
    this.#isTls = isTls
  }

  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    this.connecting = true
    this.#closing = new AbortController()
    const { signal } = this.#closing
    try {
      this.address = await this.#find(signal, (error) => {
        emit('error', error)
      })
    } catch (error) {
      if (!signal.aborted) throw error
      // What the library says itself, and does not report, when it is told to close.
      throw new Error('Connection is closed.', { cause: error })
    }
    const stream: Socket = this.#isTls ? connectTls(this.address) : connectPlain(this.address)
    // Always: a TLS connection may tell of a second error after the one that it failed with, which would end the process.
    stream.on('error', (error) => {
      this.firstError = error
    })
    this.stream = stream
    return stream
  }

  override disconnect(): void {
    this.connecting = false
    this.#closing.abort()
    this.leave()
  }

  /** Cuts the connection, for the client to connect again. A server that hangs would never close its side. */
  leave(): void {
    // Declared as always there, which it is not before the first connection.
    ;(this.stream as Socket | undefined)?.destroy()
  }
}

/** Connects to the address in its options. */
export class AddressConnector extends FindingConnector {
  /** @param options of the client: the library's type says that they may be anything */
  constructor(options: unknown) {
    const { host = 'localhost', port = REDIS_PORT, tls } = options as RedisOptions
    super(() => Promise.resolve({ host, port }), tls !== undefined)
  }
}

/** Knows which server is the primary, as sentinels tell. */
interface PrimaryTeller {
  whenKnown(signal: AbortSignal, onLate: (error: Error) => void): Promise<RedisAddress>
  onChange(listener: () => void): void
}

/** Connects to the primary that the sentinels name, and leaves it when they name another one. */
export class PrimaryConnector extends FindingConnector {
  constructor(watch: PrimaryTeller, isTls: boolean) {
    super((signal, onLate) => watch.whenKnown(signal, onLate), isTls)
    watch.onChange(() => {
      this.leave()
    })
  }

  /** Sentinels may name a server that does not know yet, or no longer, that it is the primary. */
  override check({ role }: { role?: string }): boolean {
    return role === undefined || role === 'master'
  }
}

/** Connects to one of several addresses, to the next one each time. */
export class NextConnector extends FindingConnector {
  constructor(addresses: readonly RedisAddress[], isTls: boolean) {
    let next = Math.floor(Math.random() * addresses.length)
    super(() => {
      const address = addresses[next % addresses.length]
      next += 1
      return address === undefined
        ? Promise.reject(new Error('there is no address'))
        : Promise.resolve(address)
    }, isTls)
  }
}
