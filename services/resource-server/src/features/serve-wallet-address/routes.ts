import {
  createRenderer,
  type HttpRequest,
  type HttpResponse,
  type Route,
  sendRendered
} from '@open-payments-server/http-server'
import { notFound } from '../../domain/errors.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { PATHLESS_WALLET_ADDRESS, type WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { ProviderWalletAddress, ServedWalletAddress } from './provider-wallet-address.js'

/** What the route needs. */
export interface WalletAddressRouteDependencies {
  readonly walletAddresses: WalletAddressDirectory
  /** Of this provider itself, in place of a wallet address without a path, if there is none; undefined without keys. */
  readonly providerWalletAddress: ProviderWalletAddress | undefined
  readonly urls: ResourceUrls
  /** Grant endpoint that wallet addresses advertise. */
  readonly authServerUrl: string
  /** How long others may cache the answer, in seconds. */
  readonly cacheSeconds: number
  /** Page to which browsers are redirected; undefined for none. */
  readonly pageUrl: string | undefined
}

/** A wallet address on the wire (published Wallet Address API). */
interface WalletAddressWire {
  readonly id: string
  readonly publicName?: string
  readonly assetCode: string
  readonly assetScale: number
  readonly authServer: string
  readonly resourceServer: string
}

/**
 * `GET /<path>`: a wallet address, public. Takes every path that no other route takes. The wallet address without a path is
 * served under `/.well-known/pay`, and under its own URL. That of the provider is served under `/.well-known/pay`, where there is no other.
 */
export function serveWalletAddressRoute(dependencies: WalletAddressRouteDependencies): Route {
  const render = createRenderer(
    (walletAddress: ServedWalletAddress) => toWire(walletAddress, dependencies),
    ({ updatedAtMs }) => updatedAtMs
  )
  const cacheControl = `public, max-age=${String(dependencies.cacheSeconds)}`
  const answer = (
    walletAddress: ServedWalletAddress | undefined,
    request: HttpRequest,
    response: HttpResponse
  ): void => {
    if (walletAddress === undefined) throw notFound()
    if (dependencies.pageUrl === undefined || !prefersPage(request)) {
      sendRendered(request, response, render(walletAddress), { vary: 'Accept', cacheControl })
      return
    }
    response.addField('Cache-Control', cacheControl)
    response.addField('Vary', 'Accept')
    response.addField('Location', pageOf(walletAddress, dependencies.pageUrl))
    response.sendEmpty(302)
  }
  return {
    method: 'GET',
    // Paths are compared as sent, without decoding.
    path: /^\//,
    name: '/*',
    handle: (request, response) => {
      const path = request.path === '/' ? PATHLESS_WALLET_ADDRESS : request.path
      const found = dependencies.walletAddresses.findByPath(path)
      if (found instanceof Promise) {
        return found.then(async (walletAddress) => {
          const own =
            request.path === PATHLESS_WALLET_ADDRESS ? dependencies.providerWalletAddress : undefined
          answer(walletAddress ?? (await own?.find()), request, response)
        })
      }
      // Cached wallet addresses, which is nearly always, are returned without waiting.
      answer(found, request, response)
      return undefined
    }
  }
}

/** Whether a request prefers a page: a browser's `Accept` has `text/html` before JSON. */
function prefersPage(request: HttpRequest): boolean {
  return request.accepts(['application/json', 'text/html']) === 'text/html'
}

function pageOf(walletAddress: ServedWalletAddress, pageUrl: string): string {
  const page = new URL(pageUrl)
  page.searchParams.set('walletAddress', walletAddress.url)
  return page.href
}

function toWire(
  walletAddress: ServedWalletAddress,
  dependencies: WalletAddressRouteDependencies
): WalletAddressWire {
  const { url, publicName, asset } = walletAddress
  return {
    id: url,
    ...(publicName === undefined ? {} : { publicName }),
    assetCode: asset.code,
    assetScale: asset.scale,
    authServer: dependencies.authServerUrl,
    resourceServer: dependencies.urls.base
  }
}
