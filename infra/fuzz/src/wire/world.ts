import {
  amount,
  consentedToken,
  createReceiver,
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  requestToken,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import type { Places } from '../generators/requests.js'

/** Both services, with what a client needs to get past every check of who it is. */
export interface World {
  readonly system: System
  readonly places: Places
  /** Access tokens of the shop, by what they are for. */
  readonly tokens: Readonly<Record<'incoming-payment' | 'quote' | 'outgoing-payment', string>>
  /** A grant that waits for its account holder. */
  readonly pending: PendingGrant
  /** Ports of this machine that requests may name: those of the services, and one where nothing listens. */
  readonly ports: readonly string[]
}

/** A port of this machine where nothing listens. */
const CLOSED_PORT = '2'

const QUOTES = 3

/** Starts both services and gets the shop every token. */
export async function startWorld(): Promise<World> {
  const system = await startSystem()
  const { shop, walletAddresses } = system
  const one = await createReceiver(system, shop)
  const other = await createReceiver(system, shop, { incoming: 1_000_000n })
  const quoteToken = await requestToken(system, shop, [{ type: 'quote', actions: ['create', 'read'] }])
  const quotes: string[] = []
  for (let index = 0; index < QUOTES; index += 1) {
    const quoted = await shop.request('POST', `${system.resourceServerUrl}/quotes`, {
      accessToken: quoteToken,
      body: {
        walletAddress: walletAddresses.alice,
        receiver: one.url,
        method: 'ilp',
        debitAmount: amount(100 + index)
      }
    })
    quotes.push(quoted.textAt('id'))
  }
  const { token: payToken } = await consentedToken(system, shop, [outgoingAccess(system)])
  const pending = await requestInteractiveGrant(system, shop, [outgoingAccess(system)])
  const [first = '', ...others] = quotes
  return {
    system,
    places: {
      walletAddresses: [shop.walletAddress, walletAddresses.alice, walletAddresses.bob],
      receivers: [one.url, other.url],
      quotes: [first, ...others],
      finishUris: [`http://localhost:${CLOSED_PORT}/finish?order=17`]
    },
    tokens: { 'incoming-payment': one.token, quote: quoteToken, 'outgoing-payment': payToken },
    pending,
    ports: [CLOSED_PORT, ...[system.authServerUrl, system.resourceServerUrl].map((url) => new URL(url).port)]
  }
}
