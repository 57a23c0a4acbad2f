import ipaddr from 'ipaddr.js'

/** A network, such as `10.0.0.0/8`, parsed. */
export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Parses networks in CIDR notation, such as `10.0.0.0/8` or `fd00::/8`; a single address is one too.
 *
 * @throws Error for any other text
 */
export function parseNetworks(texts: readonly string[]): readonly Network[] {
  return texts.map((text) => {
    if (text.includes('/')) return ipaddr.parseCIDR(text)
    const address = ipaddr.parse(text)
    return [address, address.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS]
  })
}

const IPV4_BITS = 32
const IPV6_BITS = 128

/** Networks of this machine itself. */
export const LOOPBACK_NETWORKS: readonly Network[] = [
  [ipaddr.IPv4.parse('127.0.0.0'), 8],
  [ipaddr.IPv6.parse('::1'), 128]
]

/** Whether a literal address is in one of some networks. An IPv4 address that is mapped into IPv6 is the IPv4 address. */
export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
}
