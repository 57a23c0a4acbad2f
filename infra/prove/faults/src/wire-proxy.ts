import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type RandomSequence, randomSequence, wholeNumber } from './random.js'

/**
 * What can happen to bytes on their way. Those of a stream cannot be lost alone: what comes after a gap is lost with them,
 * and the connection is then cut. `left hanging`: both ways lose theirs, and nothing is cut until one side times out.
 */
export type WireFault =
  'requests dropped' | 'replies dropped' | 'both dropped' | 'delayed' | 'reset' | 'left hanging'

/** How often each fault happened to bytes that were on their way. */
export type WireFaultCounts = Readonly<Record<WireFault, number>>

/**
 * The first faults: each once, in random order, so that few bytes meet all of them. `left hanging` comes in none of the
 * decks that follow, because it stops everything for seconds.
 */
const FIRST_DECK: readonly WireFault[] = [
  'requests dropped',
  'replies dropped',
  'both dropped',
  'delayed',
  'reset',
  'left hanging'
]

/** The faults of each further deck: they come in random order, and all of them before any comes from the next deck. */
const DECK: readonly WireFault[] = [
  ...Array.from(
    { length: 3 },
    () => ['requests dropped', 'replies dropped', 'delayed', 'reset'] as const
  ).flat(),
  'both dropped',
  'both dropped'
]

/** How a proxy disturbs. */
export interface WireProxyOptions {
  /** Port of 127.0.0.1 that it leads to. */
  readonly target: number
  /** What happens follows from it, and from what passes. */
  readonly seed: number
  /** Bytes of requests from one fault of a connection to the next, at least and at most. */
  readonly requestBytesBetweenFaults: readonly [least: number, most: number]
  /** How long a delay holds everything back, in milliseconds, at least and at most. */
  readonly delayMs: readonly [least: number, most: number]
  /** How long after bytes were lost the connection is cut, in milliseconds, at least and at most. */
  readonly cutAfterMs: readonly [least: number, most: number]
}

/** Stands between a client and a server of any protocol over TCP. It forwards everything until disturbances are switched on. */
export class WireProxy {
  readonly #options: WireProxyOptions
  readonly #server: Server
  readonly #random: RandomSequence
  readonly #connections = new Set<DisturbedConnection>()
  readonly #deck: WireFault[] = [...FIRST_DECK]
  readonly #counts: Record<WireFault, number> = {
    'requests dropped': 0,
    'replies dropped': 0,
    'both dropped': 0,
    delayed: 0,
    reset: 0,
    'left hanging': 0
  }
  #disturbing = false

  private constructor(server: Server, options: WireProxyOptions) {
    this.#server = server
    this.#options = options
    this.#random = randomSequence(options.seed)
    server.on('connection', (client) => {
      this.#accept(client)
    })
  }

  /** Starts one on a free port of 127.0.0.1. */
  static async start(options: WireProxyOptions): Promise<WireProxy> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new WireProxy(server, options)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get counts(): WireFaultCounts {
    return this.#counts
  }

  /** Disturbs from now on. */
  disturb(): void {
    this.#disturbing = true
  }

  /** No more faults begin. Those that began take their course. */
  heal(): void {
    this.#disturbing = false
  }

  /** Ends every connection and takes no more. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const connection of this.#connections) connection.end()
    await closed
  }

  #accept(client: Socket): void {
    const connection = new DisturbedConnection(client, connect(this.#options.target, '127.0.0.1'), {
      ...this.#options,
      random: this.#random,
      nextFault: () => this.#nextFault()
    })
    this.#connections.add(connection)
    client.once('close', () => this.#connections.delete(connection))
  }

  #nextFault(): WireFault | undefined {
    if (!this.#disturbing) return undefined
    if (this.#deck.length === 0) this.#deck.push(...DECK)
    const [fault] = this.#deck.splice(wholeNumber(this.#random, 0, this.#deck.length - 1), 1)
    if (fault !== undefined) this.#counts[fault] += 1
    return fault
  }
}

interface ConnectionPlan extends WireProxyOptions {
  readonly random: RandomSequence
  /** Draws what happens next; undefined for nothing. */
  readonly nextFault: () => WireFault | undefined
}

/** One connection and its plan: after some bytes of requests a fault, and so on, until one that it does not survive. */
class DisturbedConnection {
  readonly #client: Socket
  readonly #server: Socket
  readonly #plan: ConnectionPlan
  readonly #dropped = new Set<'requests' | 'replies'>()
  #bytesToNextFault: number
  /** What waits for the end of a delay, in order; undefined while there is none. */
  #heldBack: (() => void)[] | undefined

  constructor(client: Socket, server: Socket, plan: ConnectionPlan) {
    this.#client = client
    this.#server = server
    this.#plan = plan
    this.#bytesToNextFault = this.#draw(plan.requestBytesBetweenFaults)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      // Whoever ends a connection ends it for both, and how is seen by 'close'.
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.end()
      })
    }
    client.on('data', (bytes) => {
      this.#beforeRequest(bytes.length)
      this.#pass('requests', server, bytes)
    })
    server.on('data', (bytes) => {
      this.#pass('replies', client, bytes)
    })
  }

  end(): void {
    this.#client.destroy()
    this.#server.destroy()
  }

  #draw([least, most]: readonly [number, number]): number {
    return wholeNumber(this.#plan.random, least, most)
  }

  #pass(kind: 'requests' | 'replies', to: Socket, bytes: Buffer): void {
    const pass = (): void => {
      if (!this.#dropped.has(kind)) to.write(bytes)
    }
    if (this.#heldBack === undefined) pass()
    else this.#heldBack.push(pass)
  }

  #beforeRequest(bytes: number): void {
    if (this.#dropped.size > 0) return
    this.#bytesToNextFault -= bytes
    if (this.#bytesToNextFault > 0) return
    this.#bytesToNextFault = this.#draw(this.#plan.requestBytesBetweenFaults)
    const fault = this.#plan.nextFault()
    if (fault !== undefined) this.#begin(fault)
  }

  #begin(fault: WireFault): void {
    switch (fault) {
      case 'requests dropped':
        this.#drop('requests')
        this.#cutLater()
        break
      case 'replies dropped':
        this.#drop('replies')
        this.#cutLater()
        break
      case 'both dropped':
        this.#drop('requests', 'replies')
        this.#cutLater()
        break
      case 'left hanging':
        this.#drop('requests', 'replies')
        break
      case 'delayed':
        this.#delay()
        break
      case 'reset':
        this.#client.resetAndDestroy()
        this.#server.resetAndDestroy()
        break
    }
  }

  #drop(...kinds: ('requests' | 'replies')[]): void {
    for (const kind of kinds) this.#dropped.add(kind)
  }

  #cutLater(): void {
    setTimeout(() => {
      this.end()
    }, this.#draw(this.#plan.cutAfterMs))
  }

  #delay(): void {
    const heldBack: (() => void)[] = (this.#heldBack ??= [])
    setTimeout(() => {
      if (this.#heldBack === heldBack) this.#heldBack = undefined
      for (const pass of heldBack.splice(0)) pass()
    }, this.#draw(this.#plan.delayMs))
  }
}
