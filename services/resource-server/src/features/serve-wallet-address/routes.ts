import { createRenderer, type HttpRequest, type Route, sendRendered } from '@open-payments-server/http-server'
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
  const render = createRenderer((walletAddress: WalletAddress) => toWire(walletAddress, deps))
  const cacheControl = `public, max-age=${String(deps.cacheSeconds)}`
  return {
    method: 'GET',
    // Paths are compared as they were sent, and nothing is decoded.
    path: /^\//,
    name: '/*',
    handle: async (request, response) => {
      const path = request.path === '/' ? PATHLESS_WALLET_ADDRESS : request.path
      const walletAddress = await deps.walletAddresses.findByPath(path)
      if (walletAddress === undefined) throw notFound()
      const { updatedAtMs } = walletAddress
      if (deps.pageUrl === undefined || !prefersPage(request)) {
        sendRendered(request, response, render(walletAddress), {
          updatedAtMs,
          vary: 'Accept',
          cacheControl
        })
        return
      }
      response.addField('Cache-Control', cacheControl)
      response.addField('Vary', 'Accept')
      response.addField('Location', pageOf(walletAddress, deps.pageUrl))
      response.sendEmpty(302)
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
