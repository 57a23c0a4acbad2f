import { sendResource } from '@open-payments-server/http-server'
import { Router } from 'express'
import type { Pool } from 'pg'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { unknownWalletAddress } from '../../domain/errors.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { parseListQuery, toPage } from '../../domain/pagination.js'
import { chooseRepresentation, type RepresentationSetting } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddressDirectory } from '../../domain/wallet-address.js'
import { createOutgoingPaymentLister } from './repository.js'

/** What the route needs. */
export interface ListOutgoingPaymentsDeps {
  readonly pool: Pool
  readonly authorizer: RequestAuthorizer
  readonly walletAddresses: WalletAddressDirectory
  readonly urls: ResourceUrls
  readonly representation: RepresentationSetting
}

/** `GET /outgoing-payments`: the payments of a wallet address, newest first; `list` its own, `list-all` everyone's. */
export function createListOutgoingPaymentsRoutes(deps: ListOutgoingPaymentsDeps): Router {
  const router = Router({ caseSensitive: true })
  const lister = createOutgoingPaymentLister(deps)
  router.get('/outgoing-payments', async (request, response) => {
    const authorized = await deps.authorizer.authorize(request)
    requireReach(authorized, 'outgoing-payment', 'list', undefined)
    const query = parseListQuery(request.query)
    const walletAddress = await deps.walletAddresses.findByUrl(query.walletAddress)
    if (walletAddress === undefined) throw unknownWalletAddress('wallet-address')
    const reach = requireReach(authorized, 'outgoing-payment', 'list', walletAddress.url)
    const client = reach === 'own' ? authorized.client : undefined
    const found = await lister.list(walletAddress.id, client, query.page)
    const representation = chooseRepresentation(request.get('accept'), deps.representation)
    const page = toPage(
      query.page,
      found,
      (payment) => payment,
      (payment) => renderOutgoingPayment(payment, deps.urls, representation)
    )
    sendResource(request, response, page, { vary: ['Accept'] })
  })
  return router
}
