import type { HttpResponse } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { clientNetwork } from './client-network.js'

/** An answer that fields can be added to. */
export type Answer = Pick<HttpResponse, 'isSent' | 'addField'>

/** The parts of a request that show where it comes from. */
export interface AddressedRequest {
  readonly method: string
  /** Path as sent. */
  readonly path: string
  /** Address of the client, as far as proxies are trusted; undefined when it is gone. */
  readonly ip: string | undefined
  /** Address of the peer: the client, or the last proxy. */
  readonly remoteAddress: string | undefined
  readonly headersDistinct: Readonly<Record<string, readonly string[] | undefined>>
  /** The answer: set here, for later counts. */
  answer?: Answer | undefined
  /** The network it comes from: set here, for counting rows later. */
  network?: string | undefined
}

/** What counting by address needs. */
export interface AddressLimitOptions {
  /** Whether proxies are trusted to state a client's address. */
  readonly trustsProxies: boolean
  /** Paths where GET and HEAD are never limited, so health checks cannot be blocked. */
  readonly exemptPaths: readonly string[]
  readonly logger: Logger
  readonly count: (answer: Answer, keys: { readonly address: string }) => void
}

/** Creates a check that counts every request by its network. */
export function createAddressLimit({
  trustsProxies,
  exemptPaths,
  logger,
  count
}: AddressLimitOptions): (request: AddressedRequest, answer: Answer) => void {
  let isTold = trustsProxies
  return (request, answer) => {
    if (!isTold && request.headersDistinct['x-forwarded-for'] !== undefined) {
      logger.warn('X-Forwarded-For is ignored: set TRUSTED_PROXIES where proxies in front are to be believed')
      isTold = true
    }
    if (isReading(request.method) && exemptPaths.includes(request.path)) return
    request.answer = answer
    // The value from a proxy may not be an address; the proxy's own is.
    const address = clientNetwork(request.ip) ?? clientNetwork(request.remoteAddress) ?? 'unknown'
    request.network = address
    count(answer, { address })
  }
}

function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
