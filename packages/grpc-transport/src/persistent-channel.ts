import type { Channel } from '@grpc/grpc-js'
import { type ChannelInterface, connectivityState } from '@grpc/grpc-js'

/** How long a channel may fail to connect before it starts afresh: longer than connecting takes on a busy machine. */
const CONNECTING_MAX_MS = 5_000

/**
 * A channel that recovers from anything. grpc-js waits for ever for a connection whose other side is silent, such as one
 * that was accepted by a host that vanishes, or by a proxy with nothing behind it. So a channel that has not become ready
 * in time is replaced by a new one, which resolves the addresses and connects again. Calls still waiting for a connection
 * end with UNAVAILABLE.
 */
export class PersistentChannel implements ChannelInterface {
  readonly #open: () => Channel
  #current: Channel
  #replacing: NodeJS.Timeout | undefined
  #closed = false

  /** @param open creates a channel that shares its connections with no other */
  constructor(open: () => Channel) {
    this.#open = open
    this.#current = open()
    this.#watch()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#replacing)
    this.#current.close()
  }

  getTarget(): string {
    return this.#current.getTarget()
  }

  getConnectivityState(tryToConnect: boolean): connectivityState {
    return this.#current.getConnectivityState(tryToConnect)
  }

  watchConnectivityState(...parameters: Parameters<Channel['watchConnectivityState']>): void {
    this.#current.watchConnectivityState(...parameters)
  }

  getChannelzRef(): ReturnType<Channel['getChannelzRef']> {
    return this.#current.getChannelzRef()
  }

  createCall(...parameters: Parameters<Channel['createCall']>): ReturnType<Channel['createCall']> {
    return this.#current.createCall(...parameters)
  }

  /** Checks the state, and again whenever it changes. */
  #watch(): void {
    if (this.#closed) return
    const watched = this.#current
    const state = watched.getConnectivityState(false)
    if (state === connectivityState.READY || state === connectivityState.IDLE) {
      clearTimeout(this.#replacing)
      this.#replacing = undefined
    } else {
      this.#replacing ??= setTimeout(() => {
        this.#replace()
      }, CONNECTING_MAX_MS).unref()
    }
    watched.watchConnectivityState(state, Infinity, () => {
      if (watched === this.#current) this.#watch()
    })
  }

  #replace(): void {
    this.#replacing = undefined
    const old = this.#current
    this.#current = this.#open()
    this.#current.getConnectivityState(true)
    this.#watch()
    old.close()
  }
}
