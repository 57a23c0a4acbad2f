import { BlockList, isIP } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/**
 * Whether a host is this machine itself, so that nothing sent there leaves it.
 *
 * @param host `localhost`, or an address, IPv6 with or without brackets; every other name counts as elsewhere
 */
export function isLoopbackHost(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(address)
  if (family === 0) return address.toLowerCase() === 'localhost'
  return LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6')
}
