import { isUuid, withoutFinalSlashes } from '@open-payments-server/value-types/identifiers'
import { PATHLESS_WALLET_ADDRESS } from './wallet-address.js'

/** Kinds of resources that have URLs, by the name of their collection. */
export type Collection = 'incoming-payments' | 'outgoing-payments' | 'quotes'

/** Builds and parses the URLs of everything served here, based on the configured URLs. */
export interface ResourceUrls {
  /** The public URL, without a trailing slash. */
  readonly base: string
  /** URL of a resource. */
  of(collection: Collection, id: string): string
  /** Id in the URL of a resource served here; undefined for any other text. */
  idOf(collection: Collection, url: string): string | undefined
  /** Whether a URL leads here, however it is spelled, and whatever is there. */
  leadsHere(url: string): boolean
  /** URL of the wallet address of a path. */
  ofWalletAddress(path: string): string
  /** Path in the URL of what may be a wallet address served here; undefined for any other text. */
  walletAddressPathOf(url: string): string | undefined
}

/** The URN of what no URL is served of, by its id (UUID). */
export function urnOf(id: string): string {
  return `urn:uuid:${id}`
}

/**
 * Creates the {@link ResourceUrls} of a public URL.
 *
 * @param walletAddressBaseUrl URL below which wallet addresses are, where that is not the public URL
 */
export function createResourceUrls(publicUrl: string, walletAddressBaseUrl = publicUrl): ResourceUrls {
  const base = withoutFinalSlashes(publicUrl)
  const walletAddressBase = withoutFinalSlashes(walletAddressBaseUrl)
  const here = new URL(`${base}/`)
  return {
    base,
    leadsHere(url) {
      if (!URL.canParse(url)) return false
      const { origin, pathname } = new URL(url)
      return origin === here.origin && `${pathname}/`.startsWith(here.pathname)
    },
    of: (collection, id) => `${base}/${collection}/${id}`,
    idOf(collection, url) {
      const prefix = `${base}/${collection}/`
      const id = url.startsWith(prefix) ? url.slice(prefix.length) : ''
      return isUuid(id) ? id : undefined
    },
    ofWalletAddress: (path) =>
      path === PATHLESS_WALLET_ADDRESS ? walletAddressBase : `${walletAddressBase}${path}`,
    walletAddressPathOf(url) {
      if (url === walletAddressBase || url === `${walletAddressBase}/`) return PATHLESS_WALLET_ADDRESS
      return url.startsWith(`${walletAddressBase}/`) ? url.slice(walletAddressBase.length) : undefined
    }
  }
}
