import { type LookupAddress, promises as dns } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { OutgoingRequestError } from './errors.js'

/** How long one name server may take to answer, in milliseconds. */
const NAME_SERVER_TIMEOUT_MS = 1_500

/**
 * Resolves the addresses of a host.
 *
 * @param signal aborts when its last caller gave up
 */
export type Lookup = (hostname: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/**
 * Uses the system resolver, including the hosts file. It has few threads and cannot be cancelled: a few names whose name
 * servers never answer block all lookups. Only for names that no stranger chose.
 */
export const systemLookup: Lookup = (hostname) => dns.lookup(hostname, { all: true, verbatim: true })

/**
 * Asks the system's name servers for both IPv4 and IPv6, each once. Uses no threads, so any number of names may be pending,
 * and is cancelled with its last caller. One kind of address is enough.
 *
 * @param options.servers other name servers, as `address:port`
 * @param options.timeoutMs how long one name server may take
 */
export function createNameServerLookup(
  options: { readonly servers?: readonly string[]; readonly timeoutMs?: number } = {}
): Lookup {
  return async (hostname, signal) => {
    signal.throwIfAborted()
    // One for each lookup: cancelling ends everything that a resolver does.
    const resolver = new dns.Resolver({ timeout: options.timeoutMs ?? NAME_SERVER_TIMEOUT_MS, tries: 1 })
    if (options.servers !== undefined) resolver.setServers(options.servers)
    const cancel = (): void => {
      resolver.cancel()
    }
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [ipv4, ipv6] = await Promise.allSettled([
        resolver.resolve4(hostname),
        resolver.resolve6(hostname)
      ])
      if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason
      return [...addressesOf(ipv4, 4), ...addressesOf(ipv6, 6)]
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

function addressesOf(answer: PromiseSettledResult<readonly string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}

/** Requests that need the addresses of one host. */
interface Wanted {
  requests: number
  readonly abort: AbortController
}

/**
 * The lookups of connections. Exactly the checked addresses are connected to, so a name that resolves differently a moment
 * later does not bypass the check. One address that is not allowed disqualifies the name: its owner put it there. A lookup ends with
 * the last request that needs it.
 */
export class GuardedLookups {
  readonly #lookup: Lookup
  readonly #isAllowed: (address: string) => boolean
  readonly #wanted = new Map<string, Wanted>()

  /** @param isAllowed whether a literal address may be connected to */
  constructor(lookup: Lookup, isAllowed: (address: string) => boolean) {
    this.#lookup = lookup
    this.#isAllowed = isAllowed
  }

  /**
   * Registers a request that needs the addresses of a host.
   *
   * @returns unregisters it; to be called once
   */
  want(hostname: string): () => void {
    const wanted = this.#wanted.get(hostname) ?? { requests: 0, abort: new AbortController() }
    wanted.requests += 1
    this.#wanted.set(hostname, wanted)
    return () => {
      wanted.requests -= 1
      if (wanted.requests > 0) return
      this.#wanted.delete(hostname)
      wanted.abort.abort(new Error('Nobody waits for the addresses of the host'))
    }
  }

  /** Called by a connection. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.#find(hostname).then(
      (addresses) => {
        if (options.all === true) callback(null, [...addresses])
        else callback(null, addresses[0].address, addresses[0].family)
      },
      (error: unknown) => {
        callback(error as NodeJS.ErrnoException, [])
      }
    )
  }

  async #find(hostname: string): Promise<readonly [LookupAddress, ...LookupAddress[]]> {
    const wanted = this.#wanted.get(hostname)
    if (wanted === undefined) throw new Error('Nobody waits for the addresses of the host')
    const [first, ...others] = await this.#lookup(hostname, wanted.abort.signal)
    if (first === undefined) throw new Error('The host has no address')
    const addresses = [first, ...others] as const
    if (!addresses.every(({ address }) => this.#isAllowed(address))) throw notReachable()
    return addresses
  }
}

/** The refusal of a host whose address may not be connected to. */
export function notReachable(): OutgoingRequestError {
  return new OutgoingRequestError({ reason: 'address', message: 'The host is not on the public internet' })
}
