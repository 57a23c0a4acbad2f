import { connect, type Server, type Socket } from 'node:net'
import {
  Delay,
  DisturbingProxy,
  type DisturbingProxyOptions,
  listenLocally,
  ProxiedConnection
} from './disturbing-proxy.js'
import { type RandomSequence, wholeNumber } from '@open-payments-server/testing'
import { readMessage, truncateBody } from './http-message.js'

/** What can happen to a message. After `cut`, `reset` and `stalled`, nothing of the connection is left. */
export type FaultKind =
  /** The rest is lost, and the connection ends: in the middle of a message, a part of it arrives. */
  | 'cut'
  /** The same, with a reset: what arrived may be lost too. */
  | 'reset'
  /** Nothing more arrives in either direction, and the connection stays open for some time. */
  | 'stalled'
  /** The rest arrives later. */
  | 'delayed'
  /** A byte of ASCII becomes one that is not, so that no status becomes another. Everything else arrives. */
  | 'corrupted'
  /** The whole request arrives once more, over a connection of its own. Everything else arrives. */
  | 'doubled'
  /** The answer arrives after that to a later request over another connection. */
  | 'overtaken'
  /** The answer arrives twice. */
  | 'repeated'
  /** The end of the answer's body is missing, and its header says so: it seems to be whole. */
  | 'truncated'

/** When it happens, as the server sees it: its answer is lost only after it took the request. */
type FaultMoment = 'before the request' | 'in the request' | 'before the answer' | 'in the answer'

/** A fault of one request. */
interface Fault {
  readonly kind: FaultKind
  readonly moment: FaultMoment
}

const MOMENTS: readonly FaultMoment[] = [
  'before the request',
  'in the request',
  'before the answer',
  'in the answer'
]

/** Every fault. */
const FAULTS: readonly Fault[] = MOMENTS.flatMap((moment) => {
  const kinds: readonly FaultKind[] = ['cut', 'reset', 'stalled', 'delayed']
  const ofMessages: readonly FaultKind[] = moment.startsWith('in ') ? ['corrupted'] : []
  // Once the request has arrived as a whole.
  const afterRequests: readonly FaultKind[] = moment === 'before the answer' ? ['doubled', 'overtaken'] : []
  const ofAnswers: readonly FaultKind[] = moment === 'in the answer' ? ['repeated', 'truncated'] : []
  return [...kinds, ...ofMessages, ...afterRequests, ...ofAnswers].map((kind) => ({ kind, moment }))
})

/** How much earlier a later answer leaves than the one that it overtakes, in milliseconds: a client reads both in this order. */
const OVERTAKEN_BY_MS = 20

/** How a proxy disturbs. */
export interface HttpProxyOptions extends DisturbingProxyOptions {
  /** What happens: each at each moment, in random order, before the first happens again. */
  readonly kinds: readonly FaultKind[]
  /** Share of requests with a fault, from 0 to 1. */
  readonly share: number
  /** Minimum and maximum duration of a delay, in milliseconds. An answer that is to be overtaken waits for the maximum. */
  readonly delayMs: readonly [least: number, most: number]
  /** Minimum and maximum duration of a stall, in milliseconds. */
  readonly stallMs: readonly [least: number, most: number]
}

/** A proxy for HTTP/1.1 without pipelining, which disturbs single requests at chosen moments. */
export class HttpProxy extends DisturbingProxy {
  readonly #options: HttpProxyOptions
  readonly #faults: readonly Fault[]
  readonly #deck: Fault[]
  readonly #counts: Map<string, number>
  /** Lets those answers go that wait until another one has gone. */
  #overtaken: (() => void)[] = []

  private constructor(server: Server, options: HttpProxyOptions) {
    super(server, options)
    this.#options = options
    this.#faults = FAULTS.filter(({ kind }) => options.kinds.includes(kind))
    this.#deck = [...this.#faults]
    this.#counts = new Map(this.#faults.map((fault) => [nameOf(fault), 0]))
  }

  /** Starts one on a free port of 127.0.0.1. */
  static async start(options: HttpProxyOptions): Promise<HttpProxy> {
    return new HttpProxy(await listenLocally(options.host), options)
  }

  /** How often each fault happened, such as `cut in the request`. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts)
  }

  protected override join(client: Socket, server: Socket): ProxiedConnection {
    return new DisturbedConnection(client, server, {
      ...this.#options,
      random: this.random,
      nextFault: () => this.#nextFault(),
      onFault: (fault) => {
        this.#counts.set(nameOf(fault), (this.#counts.get(nameOf(fault)) ?? 0) + 1)
      },
      onAnswer: () => {
        for (const letGo of this.#overtaken.splice(0)) setTimeout(letGo, OVERTAKEN_BY_MS)
      },
      waitForAnother: (letGo) => this.#overtaken.push(letGo)
    })
  }

  #nextFault(): Fault | undefined {
    if (!this.isDisturbing || this.random() >= this.#options.share) return undefined
    // One that stalls holds up whoever waits for it: each happens once.
    if (this.#deck.length === 0) this.#deck.push(...this.#faults.filter(({ kind }) => kind !== 'stalled'))
    return this.#deck.splice(wholeNumber(this.random, 0, this.#deck.length - 1), 1)[0]
  }
}

function nameOf({ kind, moment }: Fault): string {
  return `${kind} ${moment}`
}

interface ConnectionPlan extends HttpProxyOptions {
  readonly random: RandomSequence
  /** Draws the fault of the next request; undefined for none. */
  readonly nextFault: () => Fault | undefined
  readonly onFault: (fault: Fault) => void
  /** Told of each answer that goes on as it came. */
  readonly onAnswer: () => void
  /** Calls back once another answer has gone. */
  readonly waitForAnother: (letGo: () => void) => void
}

/** One connection. The fault of each request is drawn when its first bytes come. */
class DisturbedConnection extends ProxiedConnection {
  readonly #plan: ConnectionPlan
  /** Whether a request began that has no answer yet. */
  #isAsked = false
  /** What is going to happen to it. */
  #fault: Fault | undefined
  readonly #delay = new Delay()
  #isLost = false
  /** The bytes of a request that is to be doubled. */
  #request: Buffer[] = []
  /** The bytes of an answer that is to be repeated or truncated. */
  #answer: Buffer[] = []

  constructor(client: Socket, server: Socket, plan: ConnectionPlan) {
    super(client, server)
    this.#plan = plan
    client.on('data', (bytes) => {
      if (!this.#isAsked) {
        this.#fault = plan.nextFault()
        this.#request = []
        this.#answer = []
      }
      this.#isAsked = true
      if (this.#fault?.kind === 'doubled') this.#request.push(bytes)
      this.#pass(bytes, server, ['before the request', 'in the request'])
    })
    server.on('data', (bytes) => {
      this.#isAsked = false
      if (this.#fault === undefined) plan.onAnswer()
      if (this.#fault?.kind === 'repeated' || this.#fault?.kind === 'truncated')
        this.#collect(bytes, this.#fault)
      else this.#pass(bytes, client, ['before the answer', 'in the answer'])
    })
  }

  #pass(bytes: Buffer, to: Socket, [before, within]: readonly [FaultMoment, FaultMoment]): void {
    const fault = this.#fault
    if (fault?.moment !== before && fault?.moment !== within) {
      this.#forward(bytes, to)
      return
    }
    this.#fault = undefined
    if (fault.kind === 'overtaken') {
      this.#letOvertake(fault)
      this.#forward(bytes, to)
      return
    }
    this.#plan.onFault(fault)
    if (fault.kind === 'doubled') {
      this.#repeat(Buffer.concat(this.#request))
      this.#forward(bytes, to)
      return
    }
    const at = fault.moment === before ? 0 : wholeNumber(this.#plan.random, 1, bytes.length - 1)
    if (fault.kind === 'corrupted') {
      bytes[at] = (bytes[at] ?? 0) ^ 0x80
      this.#forward(bytes, to)
      return
    }
    this.#forward(bytes.subarray(0, at), to)
    if (fault.kind === 'delayed') {
      this.#delay.begin(this.#draw(this.#plan.delayMs))
      this.#forward(bytes.subarray(at), to)
    } else this.#lose(fault.kind)
  }

  /** Waits until another answer has gone; in vain if there is none for some time. */
  #letOvertake(fault: Fault): void {
    const [, mostMs] = this.#plan.delayMs
    let isInTime = true
    const letGo = this.#delay.begin(mostMs)
    setTimeout(() => (isInTime = false), mostMs)
    this.#plan.waitForAnother(() => {
      if (isInTime) this.#plan.onFault(fault)
      letGo()
    })
  }

  /** Changes an answer once all of it is there. */
  #collect(bytes: Buffer, fault: Fault): void {
    this.#answer.push(bytes)
    const answer = Buffer.concat(this.#answer)
    if (!readMessage(answer).isWhole) return
    this.#fault = undefined
    const changed =
      fault.kind === 'repeated' ? Buffer.concat([answer, answer]) : truncateBody(answer, this.#plan.random)
    if (changed !== undefined) this.#plan.onFault(fault)
    this.#forward(changed ?? answer, this.client)
  }

  #forward(bytes: Buffer, to: Socket): void {
    if (this.#isLost) return
    this.#delay.pass(() => to.write(bytes))
  }

  /** Sends a request whose answer nobody reads. */
  #repeat(request: Buffer): void {
    const again = connect(this.#plan.target, this.#plan.host ?? '127.0.0.1')
    again.on('error', () => undefined)
    again.once('data', () => again.destroy())
    again.write(request)
  }

  #lose(kind: Exclude<FaultKind, 'delayed' | 'corrupted' | 'doubled' | 'overtaken'>): void {
    this.#isLost = true
    if (kind === 'cut') this.end()
    else if (kind === 'reset') {
      this.client.resetAndDestroy()
      this.server.resetAndDestroy()
    } else {
      setTimeout(() => {
        this.end()
      }, this.#draw(this.#plan.stallMs))
    }
  }

  #draw([least, most]: readonly [number, number]): number {
    return wholeNumber(this.#plan.random, least, most)
  }
}
