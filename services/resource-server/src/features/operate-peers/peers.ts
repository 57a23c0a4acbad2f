import { isUniqueViolation } from '@open-payments-server/database'
import type { Acting } from '@open-payments-server/service-kit/operators'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { hashSecret, newId } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { Peer, PeerLimits } from '../../domain/peer.js'
import type { Queries } from '../../modules/database.js'
import * as peers from '../../modules/peers/index.js'
import type { PeerWithTokens } from '../../modules/peers/index.js'
import type { PeerDependencies } from './dependencies.js'
import {
  assertIlpAddress,
  assertIncomingToken,
  assertOutgoingToken,
  assertPeerName,
  assertRoutes,
  type LimitTexts,
  readLimit,
  sealToken
} from './fields.js'

const MS_PER_SECOND = 1_000
/** Maximum time that earlier tokens are accepted after a rotation: 31 days, in seconds. */
const OVERLAP_SECONDS_MAX = 31 * 86_400

/** A request to create a peer. */
export interface PeerOrder extends LimitTexts {
  readonly name: string
  readonly asset: Asset
  readonly ilpAddress: string
  readonly routes: readonly string[]
  readonly endpoint: string
  readonly outgoingToken: string
  readonly incomingToken: string
}

/** Whether a new peer, which may be there already, can get packets that are for others: it has routes, or its address leads to another one. */
export async function takesFromOthers(
  { name, ilpAddress, routes }: Pick<PeerOrder, 'name' | 'ilpAddress' | 'routes'>,
  { database }: Pick<PeerDependencies, 'database'>
): Promise<boolean> {
  return routes.length > 0 || (await peers.leadsElsewhere(database, { ilpAddress, name }))
}

/**
 * Creates a peer, with its accounts and its first token. `checkEndpoint` comes first.
 *
 * @throws CallRefused `invalid`, `not-found` for the asset, `already-exists` for a name or a token that is taken, `not-possible`
 *   without a key for its outgoing token
 */
export async function createPeer(order: PeerOrder, dependencies: PeerDependencies): Promise<PeerWithTokens> {
  const { name, asset, ilpAddress, routes, endpoint } = order
  const { database, clock, random } = dependencies
  assertPeerName(name)
  assertIlpAddress(ilpAddress, 'ilp_address')
  assertRoutes(routes, 'routes')
  assertOutgoingToken(order.outgoingToken)
  assertIncomingToken(order.incomingToken, dependencies)
  const limits = readLimits(order)
  const id = newId(clock, random)
  const created = await createUnlessTaken(database, {
    ...limits,
    id,
    name,
    asset,
    ilpAddress,
    routes,
    endpoint,
    sealedOutgoingToken: await sealToken(id, order.outgoingToken, dependencies),
    incomingTokenHash: hashSecret(order.incomingToken),
    receivableAccountId: newId(clock, random),
    payableAccountId: newId(clock, random),
    createdAtMs: clock.now()
  })
  if (!created) {
    throw new CallRefused('not-found', `there is no asset ${asset.code} with scale ${String(asset.scale)}`, {
      field: 'asset'
    })
  }
  return getPeer(name, dependencies)
}

function readLimits(texts: LimitTexts): PeerLimits {
  return {
    receivableLimitValue: readLimit('receivableLimitValue', texts.receivableLimitValue),
    payableLimitValue: readLimit('payableLimitValue', texts.payableLimitValue),
    packetLimitValue: readLimit('packetLimitValue', texts.packetLimitValue),
    lowAlertValue: readLimit('lowAlertValue', texts.lowAlertValue),
    highAlertValue: readLimit('highAlertValue', texts.highAlertValue)
  }
}

async function createUnlessTaken(database: Queries, peer: peers.NewPeer): Promise<boolean> {
  try {
    return await peers.createPeer(database, peer)
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw isUniqueViolation(error, 'peer_name_key')
      ? new CallRefused('already-exists', `there is a peer ${peer.name} already`, { field: 'name' })
      : tokenTaken()
  }
}

function tokenTaken(): CallRefused {
  return new CallRefused('already-exists', 'another peer has this token', { field: 'incoming_token' })
}

/**
 * A peer by its name, with its tokens.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function getPeer(
  name: string,
  { database, clock }: Pick<PeerDependencies, 'database' | 'clock'>
): Promise<PeerWithTokens> {
  const peer = await requirePeer(name, database)
  const [found] = await peers.withTokens(database, [peer], clock.now())
  if (found === undefined) throw new Error(`peer ${name} was read without its tokens`)
  return found
}

/**
 * A peer by its name.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function requirePeer(name: string, database: Queries): Promise<Peer> {
  assertPeerName(name)
  const peer = await peers.findPeer(database, name)
  if (peer === undefined) throw new CallRefused('not-found', `there is no peer ${name}`, { field: 'name' })
  return peer
}

/**
 * Lists peers by name.
 *
 * @param range.after name after which the list begins
 */
export async function listPeers(
  range: { readonly after: string; readonly limit: number },
  { database, clock }: Pick<PeerDependencies, 'database' | 'clock'>
): Promise<readonly PeerWithTokens[]> {
  return peers.withTokens(database, await peers.listPeers(database, range), clock.now())
}

/** A request to change a peer. What is undefined stays. */
export interface PeerChangeOrder extends Partial<Readonly<Record<keyof LimitTexts, string | undefined>>> {
  readonly name: string
  readonly ilpAddress?: string | undefined
  readonly routes?: readonly string[] | undefined
  readonly endpoint?: string | undefined
  readonly outgoingToken?: string | undefined
}

/**
 * Changes a peer. `checkEndpoint` comes first.
 *
 * @throws CallRefused `invalid`, `not-found`, or `not-possible` without a key for its outgoing token
 */
export async function updatePeer(
  order: PeerChangeOrder,
  dependencies: PeerDependencies & Acting
): Promise<PeerWithTokens> {
  const { name, ilpAddress, routes, endpoint, outgoingToken } = order
  const { id } = await requirePeer(name, dependencies.database)
  if (ilpAddress !== undefined) assertIlpAddress(ilpAddress, 'ilp_address')
  if (routes !== undefined) assertRoutes(routes, 'routes.addresses')
  if (outgoingToken !== undefined) assertOutgoingToken(outgoingToken)
  const change = (limit: keyof PeerLimits): bigint | null | undefined => {
    const text = order[limit]
    return text === undefined ? undefined : (readLimit(limit, text) ?? null)
  }
  const limits = {
    receivableLimitValue: change('receivableLimitValue'),
    payableLimitValue: change('payableLimitValue'),
    packetLimitValue: change('packetLimitValue'),
    lowAlertValue: change('lowAlertValue'),
    highAlertValue: change('highAlertValue')
  }
  const sealedOutgoingToken =
    outgoingToken === undefined ? undefined : await sealToken(id, outgoingToken, dependencies)
  const changes = { ...limits, ilpAddress, routes, endpoint, sealedOutgoingToken }
  if (!(await peers.updatePeer(dependencies.database, id, changes))) dependencies.onUnchanged()
  return getPeer(name, dependencies)
}

/**
 * Adds a token of a peer. Its others are accepted for as long as is said.
 *
 * @throws CallRefused `invalid`, `not-found`, or `already-exists` for a token of another one
 */
export async function rotatePeerToken(
  order: { readonly name: string; readonly incomingToken: string; readonly overlapSeconds: number },
  dependencies: PeerDependencies
): Promise<PeerWithTokens> {
  const { name, incomingToken, overlapSeconds } = order
  const { id: peerId } = await requirePeer(name, dependencies.database)
  assertIncomingToken(incomingToken, dependencies)
  if (overlapSeconds > OVERLAP_SECONDS_MAX) {
    throw invalidCallField('overlap_seconds', `must be at most ${String(OVERLAP_SECONDS_MAX)}`)
  }
  const nowMs = dependencies.clock.now()
  const rotated = await peers.rotatePeerToken(dependencies.database, {
    peerId,
    hash: hashSecret(incomingToken),
    nowMs,
    othersUntilMs: overlapSeconds === 0 ? 0 : nowMs + overlapSeconds * MS_PER_SECOND
  })
  if (!rotated) throw tokenTaken()
  return getPeer(name, dependencies)
}
