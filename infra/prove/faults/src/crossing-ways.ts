import { decodePrepare } from '@open-payments-server/interledger'
import { CuttingProxy } from './cutting-proxy.js'
import type { CrossingDetours } from './crossing-system.js'
import { HttpProxy, type HttpProxyOptions } from './http-proxy.js'

/** Amount of the packets that are cut off: that of no probe. */
export const CUT_PACKET_VALUE = 37n

/** Everything between two systems leads through two proxies each. Not disturbed until they are told to. */
export class CrossingWays implements Required<CrossingDetours> {
  /** Ways of packets, and of everything else. */
  readonly random = { packets: [] as HttpProxy[], documents: [] as HttpProxy[] }
  /** They cut off packets with {@link CUT_PACKET_VALUE}, and everything else. */
  readonly cutting = { packets: [] as CuttingProxy[], documents: [] as CuttingProxy[] }
  readonly #seed: number

  /** @param seed determines the faults, with the traffic */
  constructor(seed: number) {
    this.#seed = seed
  }

  readonly packets = (port: number): Promise<number> =>
    this.#through('packets', { target: port, kindOf: (_head, body) => kindOfPacket(body) })

  readonly documents = (port: number): Promise<number> =>
    this.#through('documents', { target: port, host: 'localhost' })

  /** How often each fault happened. */
  countsOf(what: 'packets' | 'documents'): Readonly<Record<string, number>> {
    const sums: Record<string, number> = {}
    for (const { counts } of this.random[what]) {
      for (const [fault, count] of Object.entries(counts)) sums[fault] = (sums[fault] ?? 0) + count
    }
    return sums
  }

  async stop(): Promise<void> {
    const { random, cutting } = this
    const all = [...random.packets, ...random.documents, ...cutting.packets, ...cutting.documents]
    await Promise.all(all.map((proxy) => proxy.stop()))
  }

  async #through(
    what: 'packets' | 'documents',
    to: Parameters<typeof CuttingProxy.start>[0]
  ): Promise<number> {
    const cutting = await CuttingProxy.start(to)
    this.cutting[what].push(cutting)
    const seed = this.#seed + this.random.packets.length + this.random.documents.length
    const random = await HttpProxy.start({ ...FAULTS, ...to, target: cutting.port, seed })
    this.random[what].push(random)
    return random.port
  }
}

// Nothing is corrupted: TLS would show that, and a packet's amount is bound to nothing else.
const FAULTS: Omit<HttpProxyOptions, 'target' | 'seed'> = {
  share: 0.2,
  delayMs: [5, 500],
  stallMs: [200, 1_000],
  kinds: ['cut', 'reset', 'stalled', 'delayed', 'doubled', 'overtaken', 'repeated', 'truncated']
}

function kindOfPacket(body: Buffer): string | undefined {
  return decodePrepare(body).amount === CUT_PACKET_VALUE ? 'packet' : undefined
}
