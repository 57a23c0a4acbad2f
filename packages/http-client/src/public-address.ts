import ipaddr from 'ipaddr.js'

/** All of IPv6 that is handed out for use on the internet (IANA): whatever lies elsewhere has a special meaning. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Blocks inside 2000::/3 that are special all the same and that the library's list lacks or may lack: documentation
 * (RFC 3849, RFC 9637), and IETF protocol assignments (RFC 2928).
 */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '3fff::/20'].map((block) => ipaddr.IPv6.parseCIDR(block))

/**
 * Whether an address is one of an ordinary host on the public internet. Everything else is refused: private, loopback,
 * link-local (cloud metadata services among it), carrier-grade NAT, multicast, broadcast, documentation, benchmarking and
 * reserved blocks; and in IPv6 every form that carries an IPv4 address and may be turned into it on the way: mapped,
 * compatible, translated (NAT64), 6to4, Teredo.
 *
 * @param address a literal IPv4 or IPv6 address; anything else is not public
 */
export function isPublicAddress(address: string): boolean {
  // An IPv4 address must have its plain form of four numbers: no octal or shortened writing can mean another one.
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === 'unicast'
  if (!ipaddr.IPv6.isValid(address) || address.includes('%')) return false
  const parsed = ipaddr.IPv6.parse(address)
  return (
    parsed.range() === 'unicast' &&
    parsed.match(GLOBAL_UNICAST) &&
    !SPECIAL_IPV6.some((block) => parsed.match(block))
  )
}
