import ipaddr from 'ipaddr.js'

/** Groups of an IPv6 address that name its network: the 64 bits that a household or a machine is given as a whole. */
const NETWORK_GROUPS = 4

/**
 * What an address is counted as: itself for IPv4, however it is written, and its /64 for IPv6.
 *
 * @returns undefined for what is no address
 */
export function clientNetwork(address: string | undefined): string | undefined {
  if (address === undefined || !ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${parsed.parts
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}
