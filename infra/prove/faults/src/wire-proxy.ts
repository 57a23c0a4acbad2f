import type { Server, Socket } from 'node:net'
import {
  Delay,
  DisturbingProxy,
  type DisturbingProxyOptions,
  listenLocally,
  ProxiedConnection
} from './disturbing-proxy.js'
import { type RandomSequence, wholeNumber } from '@open-payments-server/testing'

/**
 * What can happen to bytes in transit. After lost bytes a stream cannot continue: what follows is lost too, and the connection is
 * then cut. `left hanging`: bytes are lost in both directions, and nothing is cut until one side times out.
 */
export type WireFault =
  'requests dropped' | 'replies dropped' | 'both dropped' | 'delayed' | 'reset' | 'left hanging'

/** How often each fault happened to bytes in transit. */
export type WireFaultCounts = Readonly<Record<WireFault, number>>

/**
 * The first faults: each once, in random order, so that few bytes are enough for all of them. `left hanging` is in none of the
 * later decks, because it stops everything for seconds.
 */
const FIRST_DECK: readonly WireFault[] = [
  'requests dropped',
  'replies dropped',
  'both dropped',
  'delayed',
  'reset',
  'left hanging'
]

/** The faults of each further deck: in random order, all of them before the next deck. */
const DECK: readonly WireFault[] = [
  ...Array.from(
    { length: 3 },
    () => ['requests dropped', 'replies dropped', 'delayed', 'reset'] as const
  ).flat(),
  'both dropped',
  'both dropped'
]

/** How a proxy disturbs. */
export interface WireProxyOptions extends DisturbingProxyOptions {
  /** Minimum and maximum number of request bytes between two faults of a connection. */
  readonly requestBytesBetweenFaults: readonly [least: number, most: number]
  /** Minimum and maximum duration of a delay, in milliseconds. */
  readonly delayMs: readonly [least: number, most: number]
  /** Minimum and maximum time between lost bytes and the cut of the connection, in milliseconds. */
  readonly cutAfterMs: readonly [least: number, most: number]
}

/** A proxy for any protocol over TCP. */
export class WireProxy extends DisturbingProxy {
  readonly #options: WireProxyOptions
  readonly #deck: WireFault[] = [...FIRST_DECK]
  readonly #counts: Record<WireFault, number> = {
    'requests dropped': 0,
    'replies dropped': 0,
    'both dropped': 0,
    delayed: 0,
    reset: 0,
    'left hanging': 0
  }

  private constructor(server: Server, options: WireProxyOptions) {
    super(server, options)
    this.#options = options
  }

  /** Starts one on a free port of 127.0.0.1. */
  static async start(options: WireProxyOptions): Promise<WireProxy> {
    return new WireProxy(await listenLocally(), options)
  }

  get counts(): WireFaultCounts {
    return this.#counts
  }

  protected override join(client: Socket, server: Socket): ProxiedConnection {
    return new DisturbedConnection(client, server, {
      ...this.#options,
      random: this.random,
      nextFault: () => this.#nextFault()
    })
  }

  #nextFault(): WireFault | undefined {
    if (!this.isDisturbing) return undefined
    if (this.#deck.length === 0) this.#deck.push(...DECK)
    const [fault] = this.#deck.splice(wholeNumber(this.random, 0, this.#deck.length - 1), 1)
    if (fault !== undefined) this.#counts[fault] += 1
    return fault
  }
}

interface ConnectionPlan extends WireProxyOptions {
  readonly random: RandomSequence
  /** Draws the next fault; undefined for none. */
  readonly nextFault: () => WireFault | undefined
}

/** One connection and its plan: after some bytes of requests a fault, and so on, until one that it does not survive. */
class DisturbedConnection extends ProxiedConnection {
  readonly #plan: ConnectionPlan
  readonly #dropped = new Set<'requests' | 'replies'>()
  #bytesToNextFault: number
  readonly #delay = new Delay()

  constructor(client: Socket, server: Socket, plan: ConnectionPlan) {
    super(client, server)
    this.#plan = plan
    this.#bytesToNextFault = this.#draw(plan.requestBytesBetweenFaults)
    client.on('data', (bytes) => {
      this.#beforeRequest(bytes.length)
      this.#pass('requests', server, bytes)
    })
    server.on('data', (bytes) => {
      this.#pass('replies', client, bytes)
    })
  }

  override end(): void {
    this.client.destroy()
    this.server.destroy()
  }

  #draw([least, most]: readonly [number, number]): number {
    return wholeNumber(this.#plan.random, least, most)
  }

  #pass(kind: 'requests' | 'replies', to: Socket, bytes: Buffer): void {
    this.#delay.pass(() => {
      if (!this.#dropped.has(kind)) to.write(bytes)
    })
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
        this.#delay.begin(this.#draw(this.#plan.delayMs))
        break
      case 'reset':
        this.client.resetAndDestroy()
        this.server.resetAndDestroy()
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
}
