import {
  createRenderer,
  type HttpRequest,
  type HttpResponse,
  type Route,
  sendRendered
} from '@open-payments-server/http-server'
import { notFound } from '../../domain/errors.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import {
  PATHLESS_WALLET_ADDRESS,
  type WalletAddress,
  type WalletAddressDirectory
} from '../../domain/wallet-address.js'

/** What the route needs. */
export interface WalletAddressRouteDeps {
  readonly walletAddresses: WalletAddressDirectory
  readonly urls: ResourceUrls
  /** Grant endpoint that wallet addresses advertise. */
  readonly authServerUrl: string
  /** How long others may keep the answer, in seconds. */
  readonly cacheSeconds: number
  /** Page that browsers are sent to; undefined for none. */
  readonly pageUrl: string | undefined
}

/** A wallet address as it travels (published Wallet Address API). */
interface WalletAddressWire {
  readonly id: string
  readonly publicName?: string
  readonly assetCode: string
  readonly assetScale: number
  readonly authServer: string
  readonly resourceServer: string
}

/**
 * `GET /<path>`: a wallet address, for anyone. Takes every path that no other route takes. The wallet address without a
 * path is served under `/.well-known/pay`, and under the URL that it is known by.
 */
export function createWalletAddressRoute(deps: WalletAddressRouteDeps): Route {
  const render = createRenderer(
    (walletAddress: WalletAddress) => toWire(walletAddress, deps),
    ({ updatedAtMs }) => updatedAtMs
  )
  const cacheControl = `public, max-age=${String(deps.cacheSeconds)}`
  const answer = (
    walletAddress: WalletAddress | undefined,
    request: HttpRequest,
    response: HttpResponse
  ): void => {
    if (walletAddress === undefined) throw notFound()
    if (deps.pageUrl === undefined || !prefersPage(request)) {
      sendRendered(request, response, render(walletAddress), { vary: 'Accept', cacheControl })
      return
    }
    response.addField('Cache-Control', cacheControl)
    response.addField('Vary', 'Accept')
    response.addField('Location', pageOf(walletAddress, deps.pageUrl))
    response.sendEmpty(302)
  }
  return {
    method: 'GET',
    // Paths are compared as they were sent, and nothing is decoded.
    path: /^\//,
    name: '/*',
    handle: (request, response) => {
      const path = request.path === '/' ? PATHLESS_WALLET_ADDRESS : request.path
      const found = deps.walletAddresses.findByPath(path)
      if (found instanceof Promise) {
        return found.then((walletAddress) => {
          answer(walletAddress, request, response)
        })
      }
      // What is remembered, which is nearly always, is answered without waiting.
      answer(found, request, response)
      return undefined
    }
  }
}

/** Whether a request would rather have a page: a browser's, as `text/html` comes before JSON in its `Accept`. */
function prefersPage(request: HttpRequest): boolean {
  return request.accepts(['application/json', 'text/html']) === 'text/html'
}

function pageOf(walletAddress: WalletAddress, pageUrl: string): string {
  const page = new URL(pageUrl)
  page.searchParams.set('walletAddress', walletAddress.url)
  return page.href
}

function toWire(walletAddress: WalletAddress, deps: WalletAddressRouteDeps): WalletAddressWire {
  const { url, publicName, asset } = walletAddress
  return {
    id: url,
    ...(publicName === undefined ? {} : { publicName }),
    assetCode: asset.code,
    assetScale: asset.scale,
    authServer: deps.authServerUrl,
    resourceServer: deps.urls.base
  }
}
