import type { OutgoingRequestError } from './errors.js'
import { systemLookup } from './lookup.js'
import { LOOPBACK_NETWORKS, parseNetworks } from './networks.js'
import { createPostClient, type PostClient } from './post-client.js'

/** Settings of a client for endpoints that an operator registers. */
export interface EndpointClientOptions {
  /** Whether endpoints may also be on this machine. */
  readonly isDevelopment: boolean
  /** Private addresses and networks that endpoints may have; none unless given. */
  readonly privateNetworks: readonly string[] | undefined
  /** Maximum time until the status of an answer is known, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum time until a message begins to leave, in milliseconds; by default all of that. */
  readonly departureMs?: number | undefined
  /** Maximum number of connections to one host. */
  readonly connectionsMax: number
}

/** A client for posting to endpoints that an operator registers: see {@link createPostClient}. */
export function createEndpointClient(options: EndpointClientOptions): PostClient {
  const { isDevelopment, privateNetworks = [], timeoutMs, departureMs, connectionsMax } = options
  const allowed = parseNetworks(privateNetworks)
  return createPostClient({
    privateNetworks: isDevelopment ? [...allowed, ...LOOPBACK_NETWORKS] : allowed,
    timeoutMs,
    departureMs,
    userAgent: 'open-payments-server',
    connectionsMax,
    // Names such as `localhost` are in no name server.
    lookup: isDevelopment ? systemLookup : undefined
  })
}

/**
 * Why an endpoint may not be posted to, for whoever registers it: without the name of the field.
 *
 * @param error of the check of a {@link PostClient}
 * @param networksSetting the setting that allows private networks
 */
export function endpointProblem(error: OutgoingRequestError, networksSetting: string): string {
  return error.reason === 'address'
    ? `must not have a private address, unless ${networksSetting} contains it`
    : error.message.replace(/^The URL /, '')
}
