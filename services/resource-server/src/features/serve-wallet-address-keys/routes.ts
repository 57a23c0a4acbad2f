import {
  createRenderer,
  type HttpRequest,
  type HttpResponse,
  type Route,
  sendRendered
} from '@open-payments-server/http-server'
import type { PublishedKeyDirectory, PublishedKeys } from '../../domain/client-keys.js'
import { notFound } from '../../domain/errors.js'
import { PATHLESS_WALLET_ADDRESS } from '../../domain/wallet-address.js'
import { KEYS_REMEMBERED_MS } from '../../modules/wallet-addresses/index.js'

/** What the route needs. */
export interface WalletAddressKeysRouteDeps {
  readonly publishedKeys: PublishedKeyDirectory
  /** How long others may go by an answer, in seconds, the time that it was remembered here included. */
  readonly cacheSeconds: number
}

/** Name of the document, below the wallet address. */
const DOCUMENT = '/jwks.json'

/** `GET /<path>/jwks.json`: the keys that the holder of a wallet address signs with, without the revoked ones; for anyone. */
export function createWalletAddressKeysRoute(deps: WalletAddressKeysRouteDeps): Route {
  const render = createRenderer((keys: PublishedKeys) => keys)
  const maxAgeSeconds = Math.max(0, deps.cacheSeconds - KEYS_REMEMBERED_MS / 1_000)
  const cacheControl = `public, max-age=${String(maxAgeSeconds)}`
  const answer = (keys: PublishedKeys | undefined, request: HttpRequest, response: HttpResponse): void => {
    if (keys === undefined) throw notFound()
    sendRendered(request, response, render(keys), { cacheControl })
  }
  return {
    method: 'GET',
    path: /\/jwks\.json$/,
    name: '/*/jwks.json',
    handle: (request, response) => {
      const found = deps.publishedKeys.findKeys(
        request.path.slice(0, -DOCUMENT.length) || PATHLESS_WALLET_ADDRESS
      )
      if (found instanceof Promise) {
        return found.then((keys) => {
          answer(keys, request, response)
        })
      }
      // What is remembered, which is nearly always, is answered without waiting.
      answer(found, request, response)
      return undefined
    }
  }
}
