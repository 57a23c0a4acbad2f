import type { Arrival } from '@open-payments-server/interledger'
import { type Asset, isSameAsset, type Rate, unitRatio } from '@open-payments-server/value-types/amounts'
import type { PacketPeer } from '../../modules/peers/index.js'

/** From which peer a packet comes, and what it is worth to the payment that it is for. */
export interface PeerArrival extends Arrival {
  readonly peer: PacketPeer
}

/**
 * A packet of a peer.
 *
 * @param to.asset of the payment that it is for, and `to.rate` to it; undefined when there is none
 * @param isBusy whether too many packets of the peer are under way
 */
export function arrivalFrom(
  peer: PacketPeer,
  to: { readonly asset: Asset; readonly rate: Rate | undefined } | undefined,
  isBusy: boolean
): PeerArrival {
  return {
    peer,
    packetLimitValue: peer.packetLimitValue,
    isBusy,
    convert(value, asset) {
      if (isSameAsset(asset, peer.asset)) return value
      if (to?.rate === undefined || !isSameAsset(asset, to.asset)) return undefined
      const { multiplier, divisor } = unitRatio(peer.asset, asset, to.rate)
      return (value * multiplier) / divisor
    }
  }
}
