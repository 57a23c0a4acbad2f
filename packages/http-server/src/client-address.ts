import proxyAddress from 'proxy-addr'
import type { AddressReader } from './http-request.js'

/** Proxies in front that are trusted to name the client's address: how many, or their addresses and networks. */
export type TrustedProxies = number | readonly string[]

/**
 * Makes what tells the address of a client: that of the connection, unless proxies in front are believed.
 *
 * @throws TypeError when one of the networks cannot be read
 */
export function createAddressReader(trustedProxies: TrustedProxies | undefined): AddressReader {
  if (trustedProxies === undefined || trustedProxies === 0) return ({ socket }) => socket.remoteAddress
  const isTrusted =
    typeof trustedProxies === 'number'
      ? (_address: string, distance: number) => distance < trustedProxies
      : proxyAddress.compile([...trustedProxies])
  // A connection that is gone has no address, and the library would give that out as one.
  return (message) =>
    message.socket.remoteAddress === undefined ? undefined : proxyAddress(message, isTrusted)
}
