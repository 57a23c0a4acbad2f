import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type RandomSequence, randomSequence } from '@open-payments-server/testing'

const LOCAL_HOST = '127.0.0.1'

/** Where a proxy leads to, and what it disturbs by. */
export interface DisturbingProxyOptions {
  /** Port that it leads to. */
  readonly target: number
  /** The host on which both listen; default: 127.0.0.1. */
  readonly host?: string
  /** Seed: with the traffic, it determines the faults. */
  readonly seed: number
}

/** A connection through a proxy: both sides of it, which end when one does. */
export abstract class ProxiedConnection {
  protected readonly client: Socket
  protected readonly server: Socket

  protected constructor(client: Socket, server: Socket) {
    this.client = client
    this.server = server
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      // When one side ends the connection, both ends close; the 'close' event tells how.
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.end()
      })
    }
  }

  /** Ends both sides, once what was written to them has left. */
  end(): void {
    this.client.destroySoon()
    this.server.destroySoon()
  }
}

/** A proxy over TCP. It forwards everything until disturbances are switched on. */
export abstract class DisturbingProxy {
  protected readonly random: RandomSequence
  readonly #server: Server
  readonly #connections = new Set<ProxiedConnection>()
  #disturbing = false

  protected constructor(server: Server, { target, host = LOCAL_HOST, seed }: DisturbingProxyOptions) {
    this.#server = server
    this.random = randomSequence(seed)
    server.on('connection', (client) => {
      const connection = this.join(client, connect(target, host))
      this.#connections.add(connection)
      client.once('close', () => this.#connections.delete(connection))
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Disturbs from now on. */
  disturb(): void {
    this.#disturbing = true
  }

  /** Begins no more faults. Those that began continue. */
  heal(): void {
    this.#disturbing = false
  }

  /** Ends every connection and takes no more. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const connection of this.#connections) connection.end()
    await closed
  }

  protected get isDisturbing(): boolean {
    return this.#disturbing
  }

  /** Forwards between a client and the server, and disturbs. */
  protected abstract join(client: Socket, server: Socket): ProxiedConnection
}

/** Listens on a free port of a host of this machine. */
export async function listenLocally(host = LOCAL_HOST): Promise<Server> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return server
}

/** What waits for the end of a delay, in order. */
export class Delay {
  /** Undefined without a delay. */
  #waiting: (() => void)[] | undefined

  /** Forwards now, or after what waits. */
  pass(forward: () => void): void {
    if (this.#waiting === undefined) forward()
    else this.#waiting.push(forward)
  }

  /**
   * Lets everything that follows wait; until the first of several delays is over.
   *
   * @returns ends it earlier
   */
  begin(durationMs: number): () => void {
    const waiting: (() => void)[] = (this.#waiting ??= [])
    const end = (): void => {
      if (this.#waiting === waiting) this.#waiting = undefined
      for (const forward of waiting.splice(0)) forward()
    }
    setTimeout(end, durationMs)
    return end
  }
}
