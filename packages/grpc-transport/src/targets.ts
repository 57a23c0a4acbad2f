import { isIP } from 'node:net'
import { experimental } from '@grpc/grpc-js'
import { isLoopbackHost } from '@open-payments-server/runtime'

/** A target, as grpc-js reads it: without a known scheme it is a name. */
const TARGET = /^(?:(dns|ipv4|ipv6|unix):)?(?:\/\/[^/]*\/)?(.*)$/

/** The hosts of a target: one name, or addresses. None for a socket of this machine. */
function hostsOf(target: string): string[] {
  const [, scheme = 'dns', path = ''] = TARGET.exec(target) ?? []
  if (scheme === 'unix') return []
  const places = scheme === 'dns' ? [path] : path.split(',')
  return places.map((place) => experimental.splitHostPort(place)?.host ?? '')
}

/**
 * Whether data sent to a target never leaves this machine.
 *
 * @param target of a channel: `host:port`, `dns:///host:port`, `ipv4:address:port,address:port`, …
 */
export function isLoopbackTarget(target: string): boolean {
  return hostsOf(target).every(isLoopbackHost)
}

/** Whether a target is a host name, which the server's certificate must then contain. An address is not a name. */
export function isNamedTarget(target: string): boolean {
  const hosts = hostsOf(target)
  return hosts.length > 0 && hosts.every((host) => isIP(host) === 0)
}
