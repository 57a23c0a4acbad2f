import type { Asset } from '@open-payments-server/value-types/amounts'

/** Path under which the wallet address without a path is stored and served. */
export const PATHLESS_WALLET_ADDRESS = '/.well-known/pay'

/** Maximum length of a wallet address's path, in characters. */
const WALLET_ADDRESS_PATH_LENGTH_MAX = 512

/** Maximum number of segments of a wallet address's path. */
const WALLET_ADDRESS_SEGMENTS_MAX = 8

/** First path segments that are reserved for the service itself. */
const RESERVED_SEGMENTS: ReadonlySet<string> = new Set([
  'incoming-payments',
  'outgoing-payments',
  'quotes',
  'outgoing-payment-grant',
  '.well-known',
  'healthz',
  'readyz'
])

/** Last segments that name documents of a wallet address. */
const RESERVED_DOCUMENTS: ReadonlySet<string> = new Set(['jwks.json', 'did.json'])

/** Allowed characters of a segment: those of RFC 3986 that need no escape, so that a path has one spelling. */
const SEGMENT = /^[A-Za-z0-9\-._~!$&'()*+,;=:@]+$/

/** A wallet address hosted here. Only its public name ever changes. */
export interface WalletAddress {
  /** Id (UUID). */
  readonly id: string
  /** Path below the public URL, such as `/alice`; {@link PATHLESS_WALLET_ADDRESS} for the one without a path. */
  readonly path: string
  /** Its URL: identifies it to clients and in access items. */
  readonly url: string
  readonly publicName: string | undefined
  /** Id (UUID) of the account behind it. */
  readonly accountId: string
  /** Id of the account's asset. */
  readonly assetId: number
  /** The account's asset. */
  readonly asset: Asset
  readonly updatedAtMs: number
}

/** Finds the wallet addresses hosted here, and caches them briefly, because what payments need never changes. */
export interface WalletAddressDirectory {
  /** The wallet address of a URL; undefined when it is not hosted here. */
  findByUrl(url: string): Promise<WalletAddress | undefined>
  /** The wallet address with a path; undefined when there is none. A cached one is returned synchronously. */
  findByPath(path: string): WalletAddress | Promise<WalletAddress | undefined>
}

/**
 * The error in a path for a wallet address, in words; undefined when it is valid. The path of the wallet address without a
 * path is {@link PATHLESS_WALLET_ADDRESS}.
 */
export function findPathProblem(path: string): string | undefined {
  if (path === PATHLESS_WALLET_ADDRESS) return undefined
  if (path.length > WALLET_ADDRESS_PATH_LENGTH_MAX) {
    return `must be at most ${String(WALLET_ADDRESS_PATH_LENGTH_MAX)} characters`
  }
  const [root, ...segments] = path.split('/')
  if (root !== '' || segments.length === 0) return 'must begin with "/"'
  if (segments.length > WALLET_ADDRESS_SEGMENTS_MAX) {
    return `must have at most ${String(WALLET_ADDRESS_SEGMENTS_MAX)} segments`
  }
  if (!segments.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..')) {
    return "must consist of segments of letters, digits and -._~!$&'()*+,;=:@"
  }
  const [first = ''] = segments
  if (RESERVED_SEGMENTS.has(first)) return `must not begin with "/${first}", which the service uses itself`
  const last = segments.at(-1) ?? ''
  if (RESERVED_DOCUMENTS.has(last))
    return `must not end with "/${last}", which names a document of a wallet address`
  return undefined
}
