import type { Server, Socket } from 'node:net'
import {
  DisturbingProxy,
  type DisturbingProxyOptions,
  listenLocally,
  ProxiedConnection
} from './disturbing-proxy.js'
import { breaksOf, readMessage } from './http-message.js'

/** What a proxy cuts off. */
export interface CuttingProxyOptions extends Omit<DisturbingProxyOptions, 'seed'> {
  /**
   * The kind of a request, by its first line and fields, and its body; undefined for one that goes on with its answer, whatever happens.
   * Default: its method and path without what is particular to one, and whether it has credentials.
   */
  readonly kindOf?: (head: string, body: Buffer) => string | undefined
}

/**
 * A proxy for HTTP/1.1 without pipelining, which cuts messages off: the first of each kind before its first byte, the next one after its
 * first line, and so on until there was one of each kind for each place of {@link breaksOf}. After that the answers to the kind are cut off.
 */
export class CuttingProxy extends DisturbingProxy {
  /** How many of each kind were cut off. */
  readonly #cuts = new Map<string, number>()
  readonly #finished = new Set<string>()
  readonly #kindOf: NonNullable<CuttingProxyOptions['kindOf']>

  private constructor(server: Server, options: CuttingProxyOptions) {
    super(server, { ...options, seed: 0 })
    this.#kindOf = options.kindOf ?? nameOf
  }

  /** Starts one on a free port. */
  static async start(options: CuttingProxyOptions): Promise<CuttingProxy> {
    return new CuttingProxy(await listenLocally(options.host), options)
  }

  /** How many of each kind were cut off, such as `POST / request`. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#cuts)
  }

  /** The kinds that there were of which one was cut off at each place. */
  get finished(): readonly string[] {
    return [...this.#finished]
  }

  protected override join(client: Socket, server: Socket): ProxiedConnection {
    return new CutConnection(client, server, {
      kindOf: this.#kindOf,
      nextCut: (kind, message) => this.#nextCut(kind, message)
    })
  }

  #nextCut(kind: string, message: Buffer): number | undefined {
    if (!this.isDisturbing) return undefined
    const count = this.#cuts.get(kind) ?? 0
    const place = breaksOf(message)[count]
    if (place === undefined) this.#finished.add(kind)
    else this.#cuts.set(kind, count + 1)
    return place
  }
}

interface ConnectionPlan {
  readonly kindOf: NonNullable<CuttingProxyOptions['kindOf']>
  /** Where a message is cut off; undefined: nowhere. */
  readonly nextCut: (kind: string, message: Buffer) => number | undefined
}

/** One connection. Each message goes on, or is cut off, once all of it is there. */
class CutConnection extends ProxiedConnection {
  readonly #plan: ConnectionPlan
  #request: Buffer = Buffer.alloc(0)
  #answer: Buffer = Buffer.alloc(0)
  #kind: string | undefined

  constructor(client: Socket, server: Socket, plan: ConnectionPlan) {
    super(client, server)
    this.#plan = plan
    client.on('data', (bytes) => {
      this.#request = Buffer.concat([this.#request, bytes])
      const { head, bodyBegin, isWhole } = readMessage(this.#request)
      if (!isWhole) return
      this.#kind = plan.kindOf(head, this.#request.subarray(bodyBegin))
      this.#pass(this.#request, server, 'request')
      this.#request = Buffer.alloc(0)
    })
    server.on('data', (bytes) => {
      this.#answer = Buffer.concat([this.#answer, bytes])
      if (!readMessage(this.#answer).isWhole) return
      this.#pass(this.#answer, client, 'answer')
      this.#answer = Buffer.alloc(0)
    })
  }

  #pass(message: Buffer, to: Socket, what: 'request' | 'answer'): void {
    const place = this.#kind === undefined ? undefined : this.#plan.nextCut(`${this.#kind} ${what}`, message)
    to.write(message.subarray(0, place))
    if (place !== undefined) this.end()
  }
}

/** Ids, and tokens in paths. */
const PARTICULAR = /[0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z0-9_-]{20,}/g

function nameOf(head: string): string {
  const [method = '', target = ''] = head.split(' ', 2)
  const { pathname } = new URL(target, 'http://localhost')
  const credentials = /^authorization:/im.test(head) ? ' with credentials' : ''
  return `${method} ${pathname.replaceAll(PARTICULAR, '…')}${credentials}`
}
