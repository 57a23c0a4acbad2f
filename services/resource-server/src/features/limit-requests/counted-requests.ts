import { type IncomingRequest, peekJson } from '@open-payments-server/http-server'
import type { RateLimits } from '@open-payments-server/service-kit/rate-limits'
import type { AuthorizedRequest, CountVerified } from '../../domain/authorization.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/**
 * Counts requests whose token and signature were checked, by the client and by the wallet address they are about, and
 * refuses those that are too many. Nobody uses up what a client has without its signature, nor what a wallet address has for
 * those whom its account holder let pay, without being one of them.
 */
export function countRequests(
  limits: Pick<RateLimits, 'count'>,
  urls: Pick<ResourceUrls, 'walletAddressPathOf'>
): CountVerified {
  return (request, authorized) => {
    const path = findWalletAddressPath(request, authorized, urls)
    limits.count(request.answer, {
      client: authorized.client,
      'wallet-address': walletAddressKey(path, authorized, urls),
      ...(leavesRow(request, path, authorized, urls)
        ? { 'address-rows': request.network, 'client-rows': authorized.client }
        : {})
    })
  }
}

/**
 * Whether a request may leave a row that nobody agreed to. A client with the consent of an account holder is known to the
 * provider by that, for the wallet address of that holder and no other; completing changes a row that is there.
 */
function leavesRow(
  { method, originalUrl }: Pick<IncomingRequest, 'method' | 'originalUrl'>,
  path: string | undefined,
  { consentedWalletAddress: consented }: Pick<AuthorizedRequest, 'consentedWalletAddress'>,
  { walletAddressPathOf }: Pick<ResourceUrls, 'walletAddressPathOf'>
): boolean {
  if (method !== 'POST' || originalUrl.endsWith('/complete')) return false
  return path === undefined || consented === undefined || walletAddressPathOf(consented) !== path
}

/**
 * What a request is counted by for the wallet address that it is about. Each has two budgets: one for tokens whose holder its
 * account holder let pay from it, which takes consent, and one for all other tokens that reach it, which anybody gets.
 *
 * @param path of the wallet address; see {@link findWalletAddressPath}
 * @returns undefined when the request is about none that may be hosted here, or about one that its token does not reach
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
 * The path of the wallet address that a request is about: by its path it is counted however it is spelled.
 *
 * @returns undefined when the request is about none that may be hosted here
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
 * The wallet address that a request is about, as far as it says so itself: in its body or its query, or because its token
 * reaches no other. The resources that are read by their ids are not looked up for this.
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

/** What is wrong with a body is told by the route that reads it. */
function readBody(body: Uint8Array): string | undefined {
  const named = (peekJson(body) as { walletAddress?: unknown } | null | undefined)?.walletAddress
  return typeof named === 'string' ? named : undefined
}
