import proxyAddress from 'proxy-addr'
import type { AddressReader } from './http-request.js'

/** Proxies in front that are trusted to state the client's address: how many, or their addresses and networks. */
export type TrustedProxies = number | readonly string[]

/**
 * Creates a function that returns a client's address: that of the connection, unless proxies in front are trusted.
 *
 * @throws TypeError when one of the networks cannot be read
 */
export function createAddressReader(trustedProxies: TrustedProxies | undefined): AddressReader {
  if (trustedProxies === undefined || trustedProxies === 0) return ({ socket }) => socket.remoteAddress
  const isTrusted =
    typeof trustedProxies === 'number'
      ? (_address: string, distance: number) => distance < trustedProxies
      : proxyAddress.compile([...trustedProxies])
  // A closed connection has no address, and the library would return that as one.
  return (message) =>
    message.socket.remoteAddress === undefined ? undefined : proxyAddress(message, isTrusted)
}
