import { type IncomingRequest, peekJson } from '@open-payments-server/http-server'
import { type RateLimits, rowKeys } from '@open-payments-server/service-kit/rate-limits'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/**
 * Counts requests whose token and signature were verified, by client and by wallet address, and refuses those over a limit.
 * So nobody can use up a client's limit without its signature, nor the budget of payments with consent for a wallet address
 * without that consent.
 */
export function countRequests(
  limits: Pick<RateLimits, 'count'>,
  urls: Pick<ResourceUrls, 'walletAddressPathOf'>
): (request: IncomingRequest, authorized: AuthorizedRequest) => void {
  return (request, authorized) => {
    const path = findWalletAddressPath(request, authorized, urls)
    limits.count(request.answer, {
      client: authorized.client,
      'wallet-address': walletAddressKey(path, authorized, urls),
      ...(leavesRow(request, path, authorized, urls) ? rowKeys(request.network, authorized.client) : {})
    })
  }
}

/**
 * Whether a request may store a row without consent. A client with an account holder's consent may store rows for that
 * account holder's wallet address, and no other.
 */
function leavesRow(
  { storesRows = false }: Pick<IncomingRequest, 'storesRows'>,
  path: string | undefined,
  { consentedWalletAddress: consented }: Pick<AuthorizedRequest, 'consentedWalletAddress'>,
  { walletAddressPathOf }: Pick<ResourceUrls, 'walletAddressPathOf'>
): boolean {
  if (!storesRows) return false
  return path === undefined || consented === undefined || walletAddressPathOf(consented) !== path
}

/**
 * The key by which a request is counted for its wallet address. Each has two budgets: one for tokens with its account
 * holder's consent to pay from it, and one for all other tokens that reach it, which anyone can get.
 *
 * @param path of the wallet address; see {@link findWalletAddressPath}
 * @returns undefined when the request is about no wallet address that may be hosted here, or about one that its token does
 *   not reach
 */
export function walletAddressKey(
  path: string | undefined,
  { access }: Pick<AuthorizedRequest, 'access'>,
  { walletAddressPathOf }: Pick<ResourceUrls, 'walletAddressPathOf'>
): string | undefined {
  if (path === undefined) return undefined
  const names = (identifier: string): boolean => walletAddressPathOf(identifier) === path
  const reaching = access.filter(({ identifier }) => identifier === undefined || names(identifier))
  if (reaching.length === 0) return undefined
  const isConsented = reaching.some(
    ({ type, identifier }) => type === 'outgoing-payment' && identifier !== undefined
  )
  return `${isConsented ? 'consented' : 'unasked'}:${path}`
}

/**
 * The path of the wallet address that a request is about: counting by path ignores how the URL is spelled.
 *
 * @returns undefined when the request is about no wallet address that may be hosted here
 */
export function findWalletAddressPath(
  request: Pick<IncomingRequest, 'originalUrl'>,
  authorized: Pick<AuthorizedRequest, 'body' | 'access'>,
  { walletAddressPathOf }: Pick<ResourceUrls, 'walletAddressPathOf'>
): string | undefined {
  const url = findWalletAddress(request, authorized)
  return url === undefined ? undefined : walletAddressPathOf(url)
}

/**
 * The wallet address that a request names in its body or query, or the only one its token reaches. Resources that are read
 * by their ids are not looked up for this.
 */
function findWalletAddress(
  { originalUrl }: Pick<IncomingRequest, 'originalUrl'>,
  { body, access }: Pick<AuthorizedRequest, 'body' | 'access'>
): string | undefined {
  const named = body === undefined ? readQuery(originalUrl) : readBody(body)
  if (named !== undefined) return named
  const [first, ...others] = new Set(access.map(({ identifier }) => identifier))
  return others.length === 0 ? first : undefined
}

function readQuery(originalUrl: string): string | undefined {
  const queryStart = originalUrl.indexOf('?')
  if (queryStart < 0) return undefined
  return new URLSearchParams(originalUrl.slice(queryStart)).get('wallet-address') ?? undefined
}

/** Errors in a body are reported by the route that reads it. */
function readBody(body: Uint8Array): string | undefined {
  const named = (peekJson(body) as { walletAddress?: unknown } | null | undefined)?.walletAddress
  return typeof named === 'string' ? named : undefined
}
