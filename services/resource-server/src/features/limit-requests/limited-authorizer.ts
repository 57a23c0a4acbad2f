import type { IncomingRequest } from '@open-payments-server/http-server'
import type { RateLimits } from '@open-payments-server/rate-limits'
import type { AuthorizedRequest, RequestAuthorizer } from '../../domain/authorization.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/**
 * Counts requests whose token and signature were checked, by the client and by the wallet address they are about, and
 * refuses those that are too many. Nobody uses up what a client or a wallet address has without a token and a signature.
 */
export function limitAuthorizer(
  authorizer: RequestAuthorizer,
  limits: Pick<RateLimits, 'count'>,
  urls: Pick<ResourceUrls, 'walletAddressPathOf'>
): RequestAuthorizer {
  return {
    async authorize(request) {
      const authorized = await authorizer.authorize(request)
      const url = findWalletAddress(request, authorized)
      // Only what may be hosted here is counted, by its path: the one that it has.
      const path = url === undefined ? undefined : urls.walletAddressPathOf(url)
      await limits.count(request.headersDistinct, { client: authorized.client, 'wallet-address': path })
      return authorized
    }
  }
}

/**
 * The wallet address that a request is about, as far as it says so itself: in its body or its query, or because its token
 * reaches no other. The resources that are read by their ids are not looked up for this.
 */
export function findWalletAddress(
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

function readBody(body: Uint8Array): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    const named = (value as { walletAddress?: unknown } | null)?.walletAddress
    return typeof named === 'string' ? named : undefined
  } catch {
    // What is wrong with it is told by whoever reads it for good.
    return undefined
  }
}
