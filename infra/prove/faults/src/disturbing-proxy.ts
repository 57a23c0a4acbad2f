import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type RandomSequence, randomSequence } from '@open-payments-server/testing'

/** Where a proxy leads to, and what it disturbs by. */
export interface DisturbingProxyOptions {
  /** Port of 127.0.0.1 that it leads to. */
  readonly target: number
  /** Seed: with the traffic, it determines the faults. */
  readonly seed: number
}

/** A connection through a proxy. */
export interface ProxiedConnection {
  end(): void
}

/** A proxy over TCP. It forwards everything until disturbances are switched on. */
export abstract class DisturbingProxy {
  protected readonly random: RandomSequence
  readonly #server: Server
  readonly #connections = new Set<ProxiedConnection>()
  #disturbing = false

  protected constructor(server: Server, { target, seed }: DisturbingProxyOptions) {
    this.#server = server
    this.random = randomSequence(seed)
    server.on('connection', (client) => {
      const connection = this.join(client, connect(target, '127.0.0.1'))
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

/** Listens on a free port of 127.0.0.1. */
export async function listenLocally(): Promise<Server> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** Lets both sides of a connection end when one does. */
export function endTogether(sockets: readonly Socket[], end: () => void): void {
  for (const socket of sockets) {
    socket.setNoDelay(true)
    // When one side ends the connection, both ends close; the 'close' event tells how.
    socket.on('error', () => undefined)
    socket.on('close', end)
  }
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

  /** Lets everything that follows wait; until the first of several delays is over. */
  begin(durationMs: number): void {
    const waiting: (() => void)[] = (this.#waiting ??= [])
    setTimeout(() => {
      if (this.#waiting === waiting) this.#waiting = undefined
      for (const forward of waiting.splice(0)) forward()
    }, durationMs)
  }
}
