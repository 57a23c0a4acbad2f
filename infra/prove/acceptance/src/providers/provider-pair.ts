import type { Asset } from '@open-payments-server/value-types/amounts'
import type { ConnectedSystem } from '../connect-system.js'
import { PEER_NAME, peerSystems } from '../peering.js'
import type { Settings } from '../plan-system.js'

/** Two systems that are each other's peers. */
export interface ProviderPair {
  readonly one: ConnectedSystem
  readonly another: ConnectedSystem
}

/** A way from a provider to the other one: that of a payment, of its packets, or of what is owed for them. */
export interface Direction {
  readonly sender: ConnectedSystem
  readonly receiver: ConnectedSystem
}

/** Both directions between two systems. */
export function directionsOf({ one, another }: ProviderPair): readonly Direction[] {
  return [
    { sender: one, receiver: another },
    { sender: another, receiver: one }
  ]
}

/** Two assets in which two systems are peers. */
export const DOLLARS: Asset = { code: 'USD', scale: 2 }
export const EUROS: Asset = { code: 'EUR', scale: 2 }

/** What each system knows the other one by in euros; in dollars it is {@link PEER_NAME}. */
export const EURO_PEER_NAME = `${PEER_NAME}-in-euros`

/** The assets in which two systems are peers, by the name of the peer: two peerings, with tokens of their own. */
export const PEERINGS: Readonly<Record<string, Asset>> = {
  [PEER_NAME]: DOLLARS,
  [EURO_PEER_NAME]: EUROS
}

/** A third asset, in which nobody is a peer: it is exchanged before it is sent, and after it came. */
export const YEN: Asset = { code: 'JPY', scale: 0 }

/** The fixed part of the fee of what is paid in dollars at the first of two providers. */
export const FIXED_DOLLAR_FEE = 3n

/** Rates and fees of two providers that are not of one mind about them. */
export const UNEQUAL_TERMS: readonly [Settings, Settings] = [
  {
    EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1,USD/JPY=150,JPY/USD=0.0066,EUR/JPY=165,JPY/EUR=0.006',
    FEES: `USD=${String(FIXED_DOLLAR_FEE)}+50,EUR=0+25`
  },
  {
    EXCHANGE_RATES: 'USD/EUR=0.91,EUR/USD=1.09,USD/JPY=151,JPY/USD=0.0065,EUR/JPY=163.7,JPY/EUR=0.006',
    FEES: 'JPY=1+10'
  }
]

/** The largest packet in dollars: larger payments take several. */
const DOLLAR_PACKET_LIMIT_VALUE = 400n

/**
 * Makes two systems each other's peers in each asset of {@link PEERINGS}. In euros each is known by another address than that of its
 * receivers, to which a route leads.
 *
 * @param endpointOf where each posts its packets in euros, instead of straight to the other one
 */
export async function peerInTwoAssets(
  { one, another }: ProviderPair,
  endpointOf?: (peer: Pick<ConnectedSystem, 'peering'>) => string
): Promise<void> {
  await peerSystems(one, another, {
    name: PEER_NAME,
    asset: DOLLARS,
    packetLimitValue: DOLLAR_PACKET_LIMIT_VALUE
  })
  await peerSystems(one, another, {
    name: EURO_PEER_NAME,
    asset: EUROS,
    addressesOf: ({ peering: { ilpAddress } }) => [`${ilpAddress}-in-euros`, ilpAddress],
    ...(endpointOf === undefined ? {} : { endpointOf })
  })
}
