import ipaddr from 'ipaddr.js'

/** Groups of an IPv6 address that name its network: the 64 bits that a household or a machine is given as a whole. */
const NETWORK_GROUPS = 4
/** Longest way to write an address, in characters (RFC 4291 §2.2), and room for a zone. */
const ADDRESS_LENGTH_MAX = 64
/** Most addresses whose networks are kept: about 2 MB. */
const NETWORKS_KEPT_MAX = 10_000

const networks = new Map<string, string>()

/**
 * What an address is counted as: itself for IPv4, however it is written, and its /64 for IPv6. Kept, since connections carry
 * many requests.
 *
 * @returns undefined for what is no address
 */
export function clientNetwork(address: string | undefined): string | undefined {
  if (address === undefined || address.length > ADDRESS_LENGTH_MAX) return undefined
  const kept = networks.get(address)
  if (kept !== undefined) return kept
  const network = findNetwork(address)
  if (network !== undefined) {
    if (networks.size >= NETWORKS_KEPT_MAX) networks.clear()
    // A copy: as a part of a header it would keep the whole of that in memory.
    networks.set(Buffer.from(address).toString(), network)
  }
  return network
}

function findNetwork(address: string): string | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${parsed.parts
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}
