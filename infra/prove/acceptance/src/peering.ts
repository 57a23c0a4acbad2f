import { randomBytes } from 'node:crypto'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { ConnectedSystem } from './connect-system.js'
import { createReceiver } from './payments.js'

/** What a system knows the other one by. */
export const PEER_NAME = 'other'

/** A system that is to be a peer. */
type PeeredSystem = Pick<ConnectedSystem, 'peers' | 'peering'>

/** Creates a peer in US dollars: without limits, unless something else is said of it. */
export async function createPeer(
  { peers }: Pick<PeeredSystem, 'peers'>,
  peer: Pick<
    wallet.CreatePeerRequest,
    'name' | 'ilpAddress' | 'endpoint' | 'incomingToken' | 'outgoingToken'
  > &
    Partial<wallet.CreatePeerRequest>
): Promise<void> {
  const unbounded = {
    asset: { code: 'USD', scale: 2 },
    routes: [],
    receivableLimitValue: '',
    payableLimitValue: '',
    packetLimitValue: '',
    lowAlertValue: '',
    highAlertValue: ''
  }
  await callUnary(peers, 'createPeer', { ...unbounded, ...peer }, { idempotent: false })
}

/** How two systems are peers, where it is not as {@link peerSystems} says. */
interface PeeringTerms {
  /** What each knows the other one by; default: {@link PEER_NAME}. Two peerings have two names. */
  readonly name?: string
  /** Default: US dollars. */
  readonly asset?: Asset
  /** The largest packet that either takes, in the smallest units of the asset; default: any. */
  readonly packetLimitValue?: bigint
  /** Where each posts its packets, instead of straight to the other one. */
  readonly endpointOf?: (peer: PeeredSystem) => string
  /** ILP addresses that lead to a peer; the first one is its own. Default: that of its receivers alone. */
  readonly addressesOf?: (peer: PeeredSystem) => readonly [string, ...string[]]
}

/** Makes two systems each other's peers, without limits: in US dollars, unless something else is said of it. */
export async function peerSystems(
  one: PeeredSystem,
  another: PeeredSystem,
  terms: PeeringTerms = {}
): Promise<void> {
  const {
    name = PEER_NAME,
    asset,
    packetLimitValue,
    endpointOf = ({ peering }) => peering.ilpEndpoint,
    addressesOf = ({ peering }) => [peering.ilpAddress]
  } = terms
  const toOne = randomBytes(24).toString('hex')
  const toAnother = randomBytes(24).toString('hex')
  const create = (here: PeeredSystem, there: PeeredSystem, tokens: Tokens): Promise<void> => {
    const [ilpAddress, ...routes] = addressesOf(there)
    return createPeer(here, {
      ...tokens,
      ...(asset === undefined ? {} : { asset }),
      name,
      ilpAddress,
      routes,
      endpoint: endpointOf(there),
      packetLimitValue: packetLimitValue?.toString() ?? ''
    })
  }
  await create(one, another, { incomingToken: toOne, outgoingToken: toAnother })
  await create(another, one, { incomingToken: toAnother, outgoingToken: toOne })
}

type Tokens = Pick<wallet.CreatePeerRequest, 'incomingToken' | 'outgoingToken'>

/** Creates an incoming payment, and reads how it is paid over Interledger. */
export async function createDestination(
  system: ConnectedSystem,
  options: { readonly incoming?: bigint } = {}
): Promise<{ readonly ilpAddress: string; readonly sharedSecret: Buffer }> {
  const { url, token: accessToken } = await createReceiver(system, system.shop, options)
  const answer = await system.shop.request('GET', url, { accessToken })
  return {
    ilpAddress: answer.textAt('methods.0.ilpAddress'),
    sharedSecret: Buffer.from(answer.textAt('methods.0.sharedSecret'), 'base64url')
  }
}
