import { type LookupAddress, promises as dns } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { OutgoingRequestError } from './errors.js'
import { isPublicAddress } from './public-address.js'

/** Finds the addresses of a host. */
export type Lookup = (hostname: string) => Promise<readonly LookupAddress[]>

/** Asks the system, hosts file and resolver settings included. */
export const systemLookup: Lookup = (hostname) => dns.lookup(hostname, { all: true, verbatim: true })

/**
 * The look-up that a connection uses. The addresses it lets through are the very ones that are connected to, so a name that
 * resolves to something else a moment later gains nothing. One address off the internet spoils the name: its owner put
 * it there.
 */
export function guardedLookup(lookup: Lookup, allowPrivateNetworks: boolean): LookupFunction {
  return (hostname, options, callback) => {
    const answer = async (): Promise<readonly [LookupAddress, ...LookupAddress[]]> => {
      const [first, ...others] = await lookup(hostname)
      if (first === undefined) throw new Error('The host has no address')
      const addresses = [first, ...others] as const
      if (!allowPrivateNetworks && !addresses.every(({ address }) => isPublicAddress(address))) {
        throw new OutgoingRequestError({
          reason: 'address',
          message: 'The host is not on the public internet'
        })
      }
      return addresses
    }
    answer().then(
      (addresses) => {
        if (options.all === true) callback(null, [...addresses])
        else callback(null, addresses[0].address, addresses[0].family)
      },
      (error: unknown) => {
        callback(error as NodeJS.ErrnoException, [])
      }
    )
  }
}
