import type { HttpResponse } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { clientNetwork } from './client-network.js'

/** An answer that fields can be added to. */
export type Answer = Pick<HttpResponse, 'isSent' | 'addField'>

/** What of a request tells where it comes from. */
export interface AddressedRequest {
  readonly method: string
  /** Path as sent. */
  readonly path: string
  /** Address of the client, as far as proxies are believed; undefined when it is gone. */
  readonly ip: string | undefined
  /** Address of whoever is connected: the client, or the last proxy. */
  readonly remoteAddress: string | undefined
  readonly headersDistinct: Readonly<Record<string, readonly string[] | undefined>>
  /** The answer to it: set here, for whoever counts it later. */
  answer?: Answer | undefined
  /** The network it comes from: set here, for whoever counts the rows that it leaves. */
  network?: string | undefined
}

/** What counting by address needs. */
export interface AddressLimitOptions {
  /** Whether proxies are believed when they name a client's address. */
  readonly trustsProxies: boolean
  /** Paths where GET and HEAD are never limited: nobody may stop whoever looks after the process. */
  readonly exemptPaths: readonly string[]
  readonly logger: Logger
  readonly count: (answer: Answer, keys: { readonly address: string }) => void
}

/** Makes what counts every request by the network it comes from. */
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
    // What a proxy wrote may be no address; its own is.
    const address = clientNetwork(request.ip) ?? clientNetwork(request.remoteAddress) ?? 'unknown'
    request.network = address
    count(answer, { address })
  }
}

function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
