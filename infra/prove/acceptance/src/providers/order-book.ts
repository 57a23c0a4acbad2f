import type { Answer } from '@open-payments-server/testing'
import type { ConnectedSystem } from '../connect-system.js'
import { type Correspondence, openWallet, type Wallet } from '../wallets.js'

const DAY_MS = 86_400_000

/** A wallet of one of two systems, and what it had before anything was ordered. */
interface BookedWallet {
  readonly system: ConnectedSystem
  readonly wallet: Wallet
  readonly openingBalance: bigint
}

/** An outgoing or incoming payment, and who may read it. */
export interface BookedPayment {
  readonly by: Correspondence
  readonly url: string
}

/** All that clients did at two systems: with what it came to, everything must agree. */
export class OrderBook {
  readonly wallets: BookedWallet[] = []
  /** Each has a grant for its outgoing payments. */
  readonly correspondences = new Set<Correspondence>()
  readonly outgoing: (BookedPayment & { readonly orderedAtMs: number })[] = []
  readonly incoming: BookedPayment[] = []
  /** When the first interval of a grant began whose limits are daily, in milliseconds since 1970. */
  readonly #dailySince = new Map<Correspondence, number>()

  /** Opens an account with a wallet address and money. */
  async openWallet(
    system: ConnectedSystem,
    name: string,
    { asset, balance = 0n }: { readonly asset: Wallet['asset']; readonly balance?: bigint }
  ): Promise<Wallet> {
    const wallet = await openWallet(system, name, asset, balance)
    this.wallets.push({ system, wallet, openingBalance: balance })
    return wallet
  }

  /** Creates an incoming payment. Returns its URL. */
  async createReceiver(by: Correspondence, incomingValue?: bigint): Promise<string> {
    const { asset } = by.to
    const incomingAmount = { value: String(incomingValue), assetCode: asset.code, assetScale: asset.scale }
    const url = await by.createReceiver(incomingValue === undefined ? {} : { incomingAmount })
    this.correspondences.add(by)
    this.incoming.push({ by, url })
    return url
  }

  /** Replaces all tokens, which may have ended. */
  async renewTokens(): Promise<void> {
    await Promise.all([...this.correspondences].map((by) => by.renewTokens()))
  }

  /** Says that the limits of a grant are daily: what was ordered under it on another day does not count. */
  countDaily(by: Correspondence, sinceMs: number): void {
    this.#dailySince.set(by, sinceMs)
  }

  /** The payments that count under a grant now. */
  countedBy(by: Correspondence): readonly BookedPayment[] {
    const own = this.outgoing.filter((payment) => payment.by === by)
    const sinceMs = this.#dailySince.get(by)
    if (sinceMs === undefined) return own
    const dayOf = (instantMs: number): number => Math.floor((instantMs - sinceMs) / DAY_MS)
    const today = dayOf(by.payer.system.clock.now())
    return own.filter(({ orderedAtMs }) => dayOf(orderedAtMs) === today)
  }

  /** Keeps what an order was answered with: if there is a payment now, it counts. Returns the answer. */
  keep(by: Correspondence, answer: Answer): Answer {
    this.correspondences.add(by)
    if (answer.status === 201) {
      const orderedAtMs = Date.parse(answer.textAt('createdAt'))
      this.outgoing.push({ by, url: answer.textAt('id'), orderedAtMs })
    }
    return answer
  }
}
