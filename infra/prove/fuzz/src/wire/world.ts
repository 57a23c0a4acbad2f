import { randomUUID } from 'node:crypto'
import {
  allSettled,
  amount,
  consentedToken,
  createReceiver,
  outgoingAccess,
  pay,
  type PendingGrant,
  requestInteractiveGrant,
  requestToken,
  type ServiceName,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import type { CallPlaces } from '../generators/calls.js'
import type { Places } from '../generators/requests.js'
import { createFuzzedPeer, type FuzzedPeer } from './fuzzed-peer.js'

/** Both services, with everything that a client needs to pass authentication. */
export interface World {
  readonly system: System
  readonly places: Places
  /** Access tokens of the shop, by the collection that they are for. */
  readonly tokens: Readonly<Record<'incoming-payments' | 'quotes' | 'outgoing-payments', string>>
  /** A token for payments from the account of the payee, to refund with. */
  readonly refundToken: string
  readonly callPlaces: CallPlaces
  readonly peer: FuzzedPeer
  readonly events: Readonly<Record<ServiceName, events.EventServiceClient>>
  /** An incoming and an outgoing payment that have ended: nobody waits for them. */
  readonly ended: { readonly incoming: string; readonly outgoing: string }
  /** A grant that waits for consent. */
  readonly pending: PendingGrant
  /** Ports of this machine that requests may name: those of the services, and one where nothing listens. */
  readonly ports: readonly string[]
  stop(): Promise<void>
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
  const { token: refundToken } = await consentedToken(system, shop, [
    outgoingAccess(system, undefined, walletAddresses.bob)
  ])
  const ended = await endedPayments(system, payToken)
  const clients = eventClients(system)
  const outgoing = [ended.outgoing, `${resourceServerUrl}/outgoing-payments/${randomUUID()}`] as const
  return {
    system,
    refundToken,
    callPlaces: { ...(await callPlaces(system)), payments: [...outgoing] },
    peer: await createFuzzedPeer(system),
    events: clients,
    ended,
    places: {
      walletAddresses: [shop.walletAddress, walletAddresses.alice, walletAddresses.bob],
      receivers: [one.url, other.url],
      ownReceivers: [(await createReceiver(system, shop, { wallet: 'alice' })).url],
      payments: [...outgoing],
      quotes: [await quote(100), await quote(101), await quote(102)],
      finishUri: `http://localhost:${CLOSED_PORT}/finish?order=17`
    },
    tokens: { 'incoming-payments': one.token, quotes: accessToken, 'outgoing-payments': payToken },
    pending: await requestInteractiveGrant(system, shop, [outgoingAccess(system)]),
    ports: [CLOSED_PORT, ...[authServerUrl, resourceServerUrl].map((url) => new URL(url).port)],
    async stop() {
      for (const client of Object.values(clients)) client.close()
      await system.stop()
    }
  }
}

/** Pays an incoming payment whole. */
async function endedPayments(system: System, payToken: string): Promise<World['ended']> {
  const { url } = await createReceiver(system, system.shop, { incoming: 1_000n })
  const paid = await pay(system, system.shop, payToken, url, 1_000n)
  await allSettled(system)
  return { incoming: url, outgoing: paid.textAt('id') }
}

function eventClients({ authServers, resourceServers }: System): World['events'] {
  const connect = (port: number | undefined): events.EventServiceClient =>
    createClient(events.EventServiceClient, {
      target: `127.0.0.1:${String(port)}`,
      deadlineMs: 10_000,
      retriesMax: 0,
      messageBytesMax: 4_194_304
    })
  return {
    'auth-server': connect(authServers[0]?.grpcPort),
    'resource-server': connect(resourceServers[0]?.grpcPort)
  }
}

/** What operators may change without consequences for anything else. */
async function callPlaces({ operator, webhooks }: System): Promise<Omit<CallPlaces, 'payments'>> {
  const call = { idempotent: false }
  const name = 'nobody'
  await callUnary(operator, 'createAccount', { name, asset: { code: 'USD', scale: 2 } }, call)
  const wallet = { path: `/${name}`, publicName: name, accountName: name }
  const { walletAddress } = await callUnary(operator, 'createWalletAddress', wallet, call)
  const endpointUrl = `http://127.0.0.1:${CLOSED_PORT}/hooks`
  const endpoint = { url: endpointUrl, types: [], walletAddress: '', secret: '' }
  const { endpoint: created } = await callUnary(
    webhooks['resource-server'],
    'createWebhookEndpoint',
    endpoint,
    call
  )
  return {
    walletAddress: walletAddress?.url ?? '',
    accountName: name,
    endpointId: created?.id ?? '',
    endpointUrl,
    cursors: ['resource-server.1', 'auth-server.1']
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
