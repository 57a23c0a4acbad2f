import { isDeepStrictEqual } from 'node:util'
import { wallet } from '@open-payments-server/proto'
import type { ActAmount } from '@open-payments-server/service-kit/operators'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { z } from 'zod'
import type { PeerDependencies } from '../../features/operate-peers/dependencies.js'
import { checkEndpoint } from '../../features/operate-peers/fields.js'
import { getPeer, takesFromOthers } from '../../features/operate-peers/peers.js'
import { findPacket } from '../../features/operate-peers/unknown-packets.js'
import { type ActingDependencies, type ActsOf, amountOf, ownPayment, subject } from './acts.js'
import { toPeerMessage } from './peers.js'

const ofPeer = {
  subject: ({ name }: { readonly name: string }) => subject('peer', name),
  look: async ({ name }: { readonly name: string }, dependencies: PeerDependencies) =>
    toPeerMessage(await getPeer(name, dependencies))
}

const ofChangedPeer = {
  ...ofPeer,
  made: ({ peer }: { readonly peer?: wallet.Peer | undefined }) => peer
}

/** What can be changed of a peer, besides its tokens. */
const PEER_MEMBERS = [
  'ilpAddress',
  'routes',
  'endpoint',
  'receivableLimitValue',
  'payableLimitValue',
  'packetLimitValue',
  'lowAlertValue',
  'highAlertValue'
] as const

/** The limits up to which money may be lost by a peer. */
const DEBT_LIMITS = ['receivableLimitValue', 'payableLimitValue'] as const

/** What counts of a peer before it is changed. */
const seenPeer = z.object({
  ilpAddress: z.string(),
  routes: z.array(z.string()),
  endpoint: z.string(),
  receivableLimitValue: z.string(),
  payableLimitValue: z.string()
})

const seenPacket = z.object({ packet: z.object({ value: z.string() }) })

/** The largest of some limits, of which the empty text is any amount; undefined for none. */
function largestOf(asset: Asset, limits: readonly string[]): ActAmount | undefined {
  if (limits.length === 0) return undefined
  if (limits.includes('')) return 'any'
  return { asset, value: limits.map(BigInt).reduce((one, other) => (other > one ? other : one)) }
}

function isRaised(before: string, after: string): boolean {
  if (before === '') return false
  return after === '' || BigInt(after) > BigInt(before)
}

/** What a change of a peer puts at risk: any amount where payments go elsewhere from now on, and raised limits. */
async function riskedBy(
  { name, routes, ...asked }: wallet.UpdatePeerRequest,
  dependencies: PeerDependencies,
  before: unknown
): Promise<ActAmount | undefined> {
  const was = seenPeer.parse(before)
  const { ilpAddress = was.ilpAddress, endpoint = was.endpoint } = asked
  const goesTo = [ilpAddress, endpoint, routes?.addresses ?? was.routes]
  if (!isDeepStrictEqual(goesTo, [was.ilpAddress, was.endpoint, was.routes])) return 'any'
  const raised = DEBT_LIMITS.flatMap((limit) => {
    const value = asked[limit]
    return value !== undefined && isRaised(was[limit], value) ? [value] : []
  })
  return largestOf((await getPeer(name, dependencies)).peer.asset, raised)
}

/** A peer with a packet to it about which is decided: its second person sees what it moves. */
async function lookAtPacket(
  request: wallet.DecidePacketRequest,
  dependencies: ActingDependencies
): Promise<object> {
  const packet = await findPacket(request, dependencies)
  return {
    ...(await ofPeer.look(request, dependencies)),
    packet: packet && {
      value: packet.sendValue,
      payment: dependencies.urls.of('outgoing-payments', packet.paymentId),
      standsForLost: packet.isStandIn,
      outcome: packet.outcome
    }
  }
}

/** What is recorded of the calls of `PeerService`. Peers are providers, which nobody holds: only a packet is of somebody's payment. */
export const PEER_ACTS = {
  createPeer: {
    subject: ofPeer.subject,
    made: ({ peer }) => peer,
    prepare: ({ endpoint }, dependencies) => checkEndpoint(endpoint, dependencies),
    secrets: ['outgoingToken', 'incomingToken'],
    withoutSecrets:
      'create it without routes, with an address that leads to no peer yet, with limits of what it may owe and of what it may be owed below the amount from which this does, and change these afterwards',
    holdsSecret: true,
    amount: async ({ asset, receivableLimitValue, payableLimitValue, ...addresses }, dependencies) => {
      if (asset === undefined) return undefined
      return (await takesFromOthers(addresses, dependencies))
        ? 'any'
        : largestOf(asset, [receivableLimitValue, payableLimitValue])
    }
  },
  updatePeer: {
    ...ofChangedPeer,
    prepare: async ({ endpoint }, dependencies) => {
      if (endpoint !== undefined) await checkEndpoint(endpoint, dependencies)
    },
    secrets: ['outgoingToken'],
    withoutSecrets: 'replace the token in a call of its own',
    replaces: (request) => PEER_MEMBERS.filter((name) => request[name] !== undefined),
    isHarmless: ({ ilpAddress, routes, endpoint, ...limits }) =>
      [ilpAddress, routes, endpoint].every((field) => field === undefined) &&
      [limits.receivableLimitValue, limits.payableLimitValue, limits.packetLimitValue].every(
        (limit) => limit === undefined
      ),
    amount: riskedBy
  },
  rotatePeerToken: { ...ofChangedPeer, secrets: ['incomingToken'], holdsSecret: true },
  settlePeer: {
    ...ofChangedPeer,
    enumerations: { direction: wallet.SettlementDirection },
    amount: async ({ name, value }, dependencies) =>
      amountOf((await getPeer(name, dependencies)).peer.asset, value)
  },
  decidePacket: {
    subject: ofPeer.subject,
    look: lookAtPacket,
    replaces: () => ['packet'],
    // A fulfillment that is not the packet's has been refused.
    isHarmless: ({ fulfillment }) => fulfillment !== undefined,
    ownMatter: {
      field: 'condition',
      people: async (request, dependencies) => {
        const id = (await findPacket(request, dependencies))?.paymentId
        return id === undefined ? [] : ownPayment(dependencies.urls.of('outgoing-payments', id), dependencies)
      }
    },
    // All of it, also where a part arrived: that is owed, and the rest is sent again.
    amount: async ({ name }, dependencies, before) =>
      amountOf((await getPeer(name, dependencies)).peer.asset, seenPacket.parse(before).packet.value)
  }
} as const satisfies ActsOf<typeof wallet.PeerServiceService>
