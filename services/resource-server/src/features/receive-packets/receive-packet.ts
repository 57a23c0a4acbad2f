import {
  createStreamReceiver,
  decodePrepare,
  encodeReply,
  type Prepare,
  type Reply
} from '@open-payments-server/interledger'
import { type Asset, isSameAsset, type Rate } from '@open-payments-server/value-types/amounts'
import type { RateProvider } from '../../domain/rates.js'
import { RequestRefused } from '../../domain/errors.js'
import type { PacketPeer } from '../../modules/peers/index.js'
import { arrivalFrom, type PeerArrival } from './arrival.js'
import type { ReceiveDependencies } from './dependencies.js'
import { createPacketCredits } from './packet-credits.js'

/** Maximum number of packets of one peer that are credited at a time: a flood of one does not keep others waiting. */
const PACKETS_AT_A_TIME_MAX = 250

/** Answers packets. */
export interface PacketReceiver {
  /**
   * Answers a packet of a peer: credits it, then fulfills it; or rejects it.
   *
   * @param bytes an ILP Prepare (IL-RFC 27)
   * @returns an ILP Fulfill or Reject, and what it says: `fulfill`, or the code of the Reject
   * @throws PacketError for what is no Prepare; TokenEnded when the peer may no longer present its token; what the database throws: then
   *   nobody knows whether it was credited
   */
  receive(bytes: Buffer, peer: PacketPeer): Promise<{ readonly reply: Buffer; readonly result: string }>
}

/** Receives packets for the incoming payments hosted here. */
export function createPacketReceiver(dependencies: ReceiveDependencies): PacketReceiver {
  const { addresses, rates } = dependencies
  const receiver = createStreamReceiver<PeerArrival>({
    ...dependencies,
    credits: createPacketCredits(dependencies)
  })
  const underWay = new Map<string, number>()

  const answer = async (prepare: Prepare, peer: PacketPeer): Promise<Reply> => {
    const count = (underWay.get(peer.id) ?? 0) + 1
    underWay.set(peer.id, count)
    try {
      const resolved = addresses.resolve(prepare.destination)
      const to =
        resolved.outcome === 'payment' ? await priceOf(peer.asset, resolved.target.asset, rates) : undefined
      return await receiver.receive(prepare, arrivalFrom(peer, to, count > PACKETS_AT_A_TIME_MAX))
    } finally {
      const left = (underWay.get(peer.id) ?? 1) - 1
      if (left === 0) underWay.delete(peer.id)
      else underWay.set(peer.id, left)
    }
  }

  return {
    async receive(bytes, peer) {
      const reply = await answer(decodePrepare(bytes), peer)
      return { reply: encodeReply(reply), result: reply.type === 'fulfill' ? 'fulfill' : reply.code }
    }
  }
}

/** The rate to the asset of a payment: none in one asset, and undefined where it cannot be had. */
async function priceOf(
  source: Asset,
  target: Asset,
  rates: RateProvider
): Promise<{ readonly asset: Asset; readonly rate: Rate | undefined } | undefined> {
  if (isSameAsset(source, target)) return undefined
  try {
    return { asset: target, rate: await rates.getRate(source, target) }
  } catch (error) {
    if (error instanceof RequestRefused && error.because === 'rates-unavailable') return undefined
    throw error
  }
}
