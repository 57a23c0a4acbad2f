import { randomBytes } from 'node:crypto'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import type { ConnectedSystem } from './connect-system.js'

/** What a system knows the other one by. */
export const PEER_NAME = 'other'

/** A system that is to be a peer. */
type PeeredSystem = Pick<ConnectedSystem, 'peers' | 'peering'>

/**
 * Makes two systems each other's peers in US dollars.
 *
 * @param bounds.packetLimitValue the largest packet that either takes, in cents; default: any
 * @param bounds.payableLimitValue the most that either may owe the other, in cents; default: any amount
 * @param bounds.endpointOf where each posts its packets, instead of straight to the other one
 */
export async function peerSystems(
  one: PeeredSystem,
  another: PeeredSystem,
  bounds: {
    readonly packetLimitValue?: bigint
    readonly payableLimitValue?: bigint
    readonly endpointOf?: (peer: PeeredSystem) => string
  } = {}
): Promise<void> {
  const { packetLimitValue, payableLimitValue, endpointOf = ({ peering }) => peering.ilpEndpoint } = bounds
  const toOne = randomBytes(24).toString('hex')
  const toAnother = randomBytes(24).toString('hex')
  const create = (here: PeeredSystem, there: PeeredSystem, tokens: Tokens): Promise<unknown> =>
    callUnary(
      here.peers,
      'createPeer',
      {
        ...tokens,
        name: PEER_NAME,
        asset: { code: 'USD', scale: 2 },
        ilpAddress: there.peering.ilpAddress,
        routes: [],
        endpoint: endpointOf(there),
        receivableLimitValue: payableLimitValue?.toString() ?? '',
        payableLimitValue: payableLimitValue?.toString() ?? '',
        packetLimitValue: packetLimitValue?.toString() ?? '',
        lowAlertValue: '',
        highAlertValue: ''
      },
      { idempotent: false }
    )
  await create(one, another, { incomingToken: toOne, outgoingToken: toAnother })
  await create(another, one, { incomingToken: toAnother, outgoingToken: toOne })
}

type Tokens = Pick<wallet.CreatePeerRequest, 'incomingToken' | 'outgoingToken'>
