import ipaddr from 'ipaddr.js'

/** Number of groups of an IPv6 address that identify its network: the 64 bits that a household or a machine gets. */
const NETWORK_GROUPS = 4
/** Number of groups of an IPv6 address that identify its site. */
const SITE_GROUPS = 3
/** Maximum length of an address, in characters (RFC 4291 §2.2), and room for a zone. */
const ADDRESS_LENGTH_MAX = 64
/** Maximum number of addresses whose networks are cached: about 2 MB. */
const NETWORKS_KEPT_MAX = 10_000

const networks = new Map<string, string>()

/**
 * The key an address is counted by: itself for IPv4, in canonical form, and its /64 for IPv6. Cached, because connections
 * carry many requests.
 *
 * @returns undefined when it is not an address
 */
export function clientNetwork(address: string | undefined): string | undefined {
  if (address === undefined || address.length > ADDRESS_LENGTH_MAX) return undefined
  const kept = networks.get(address)
  if (kept !== undefined) return kept
  const network = findNetwork(address)
  if (network !== undefined) {
    if (networks.size >= NETWORKS_KEPT_MAX) networks.clear()
    // A copy: a substring of a header would keep the whole header in memory.
    networks.set(Buffer.from(address).toString(), network)
  }
  return network
}

/**
 * The site of a network: the /48 of an IPv6 /64. A customer may get that much, and it has 65,536 /64.
 *
 * @param network as {@link clientNetwork} returns it
 * @returns undefined for anything but IPv6
 */
export function siteOf(network: string): string | undefined {
  return network.includes(':') ? `${network.split(':').slice(0, SITE_GROUPS).join(':')}::/48` : undefined
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
