import { createHmac } from 'node:crypto'
import type { NewPeer, OperatorClient } from '@open-payments-server/operator-cli'
import type { StackSecrets } from './secrets.js'
import type { StackSettings } from './settings.js'

/** A provider of the stack, as whoever peers it needs it. */
export interface PeeredProvider {
  /** What the other one calls it. */
  readonly name: string
  readonly client: OperatorClient
  readonly settings: Pick<StackSettings, 'peering'>
  readonly secrets: Pick<StackSecrets, 'peerSecretKey'>
}

/** Makes sure that two providers are each other's peers in US dollars, without limits. Does not change existing ones, but where they are. */
export async function peerProviders(first: PeeredProvider, second: PeeredProvider): Promise<void> {
  await Promise.all([ensurePeer(first, second), ensurePeer(second, first)])
}

async function ensurePeer(here: PeeredProvider, there: PeeredProvider): Promise<void> {
  const { ilpEndpoint: endpoint, ilpAddress } = there.settings.peering
  const known = (await here.client.peers.list(Infinity)).items.find(({ name }) => name === there.name)
  const unbounded = {
    receivableLimitValue: undefined,
    payableLimitValue: undefined,
    packetLimitValue: undefined,
    lowAlertValue: undefined,
    highAlertValue: undefined
  } satisfies Partial<NewPeer>
  if (known === undefined) {
    await here.client.peers.create({
      ...unbounded,
      name: there.name,
      asset: { code: 'USD', scale: 2 },
      ilpAddress,
      routes: [],
      endpoint,
      outgoingToken: tokenOf(here, there),
      incomingToken: tokenOf(there, here)
    })
  } else if (known.endpoint !== endpoint || known.ilpAddress !== ilpAddress) {
    const change = { ...unbounded, ilpAddress, endpoint, routes: undefined, outgoingToken: undefined }
    await here.client.peers.update(there.name, change)
  }
}

/** What a provider presents to another: the same at each start. */
function tokenOf(from: PeeredProvider, to: PeeredProvider): string {
  const text = `${from.name} to ${to.name} ${to.secrets.peerSecretKey}`
  return createHmac('sha256', from.secrets.peerSecretKey).update(text).digest('base64url')
}
