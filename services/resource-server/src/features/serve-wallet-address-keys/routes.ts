import {
  createRenderer,
  type HttpRequest,
  type HttpResponse,
  type Route,
  sendRendered
} from '@open-payments-server/http-server'
import type { PublishedKeyDirectory, PublishedKeys } from '../../domain/client-keys.js'
import { notFound } from '../../domain/errors.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { PATHLESS_WALLET_ADDRESS } from '../../domain/wallet-address.js'
import { KEYS_REMEMBERED_MS } from '../../modules/wallet-addresses/index.js'

/** What the route needs. */
export interface WalletAddressKeysRouteDependencies {
  readonly publishedKeys: PublishedKeyDirectory
  readonly urls: Pick<ResourceUrls, 'ofWalletAddress'>
  /** The keys of this provider itself, published for the wallet address without a path; undefined: those of its holder are. */
  readonly providerKeys: PublishedKeys | undefined
  /** How long others may cache an answer, in seconds, including the time that it was cached here. */
  readonly cacheSeconds: number
}

/** Name of the document, below the wallet address. */
const DOCUMENT = '/jwks.json'

/**
 * `GET /<path>/jwks.json`: the signing keys of the wallet address's holder, without revoked ones; public. Whatever host it is asked
 * for, `Content-Location` says whose they are, so that nobody signs as another URL with them. The keys of the provider itself are its
 * own under any.
 */
export function serveWalletAddressKeysRoute(dependencies: WalletAddressKeysRouteDependencies): Route {
  const render = createRenderer((keys: PublishedKeys) => keys)
  const maxAgeSeconds = Math.max(0, dependencies.cacheSeconds - KEYS_REMEMBERED_MS / 1_000)
  const cacheControl = `public, max-age=${String(maxAgeSeconds)}`
  const answer = (
    keys: PublishedKeys | undefined,
    path: string,
    request: HttpRequest,
    response: HttpResponse
  ): void => {
    if (keys === undefined) throw notFound()
    if (keys !== dependencies.providerKeys)
      response.addField('Content-Location', dependencies.urls.ofWalletAddress(path) + DOCUMENT)
    sendRendered(request, response, render(keys), { cacheControl })
  }
  return {
    method: 'GET',
    path: /\/jwks\.json$/,
    name: '/*/jwks.json',
    handle: (request, response) => {
      const path = request.path.slice(0, -DOCUMENT.length) || PATHLESS_WALLET_ADDRESS
      const found =
        (path === PATHLESS_WALLET_ADDRESS ? dependencies.providerKeys : undefined) ??
        dependencies.publishedKeys.findKeys(path)
      if (found instanceof Promise) {
        return found.then((keys) => {
          answer(keys, path, request, response)
        })
      }
      // Cached keys, which is nearly always, are returned without waiting.
      answer(found, path, request, response)
      return undefined
    }
  }
}
