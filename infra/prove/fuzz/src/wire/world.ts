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

/** Both services, with everything that a client needs to pass authentication. */
export interface World {
  readonly system: System
  readonly places: Places
  /** Access tokens of the shop, by the collection that they are for. */
  readonly tokens: Readonly<Record<'incoming-payments' | 'quotes' | 'outgoing-payments', string>>
  /** A grant that waits for consent. */
  readonly pending: PendingGrant
  /** Ports of this machine that requests may name: those of the services, and one where nothing listens. */
  readonly ports: readonly string[]
}

/** A port of this machine where nothing listens. */
const CLOSED_PORT = '2'

/** Starts both services and gets the shop every token. */
export async function startWorld(): Promise<World> {
  const system = await startSystem()
  const { shop, walletAddresses, authServerUrl, resourceServerUrl } = system
  const one = await createReceiver(system, shop)
  const other = await createReceiver(system, shop, { incoming: 1_000_000n })
  const accessToken = await requestToken(system, shop, [{ type: 'quote', actions: ['create', 'read'] }])
  const quote = async (value: number): Promise<string> => {
    const order = { walletAddress: walletAddresses.alice, receiver: one.url, method: 'ilp' }
    const body = { ...order, debitAmount: amount(value) }
    return (await shop.request('POST', `${resourceServerUrl}/quotes`, { accessToken, body })).textAt('id')
  }
  const { token: payToken } = await consentedToken(system, shop, [outgoingAccess(system)])
  return {
    system,
    places: {
      walletAddresses: [shop.walletAddress, walletAddresses.alice, walletAddresses.bob],
      receivers: [one.url, other.url],
      quotes: [await quote(100), await quote(101), await quote(102)],
      finishUri: `http://localhost:${CLOSED_PORT}/finish?order=17`
    },
    tokens: { 'incoming-payments': one.token, quotes: accessToken, 'outgoing-payments': payToken },
    pending: await requestInteractiveGrant(system, shop, [outgoingAccess(system)]),
    ports: [CLOSED_PORT, ...[authServerUrl, resourceServerUrl].map((url) => new URL(url).port)]
  }
}

/** Whether a body names only hosts of the test, so that the services fetch its URLs only from this machine. */
export function staysHere(body: Uint8Array, { ports }: World): boolean {
  const texts: string[] = []
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    JSON.parse(text, (_, value: unknown) => texts.push(typeof value === 'string' ? value : ''))
  } catch {
    // Its output is not read.
    return true
  }
  return texts.every((text) => {
    if (!URL.canParse(text)) return true
    const { protocol, hostname, port } = new URL(text)
    const isHere = ['localhost', '127.0.0.1'].includes(hostname) && ports.includes(port)
    return isHere || !/^https?:$/.test(protocol)
  })
}
