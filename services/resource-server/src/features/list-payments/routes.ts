import {
  type HttpRequest,
  type IncomingRequest,
  type Route,
  sendRendered,
  tagJson
} from '@open-payments-server/http-server'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { unknownWalletAddress } from '../../domain/errors.js'
import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ListPayments } from '../../domain/pagination.js'
import type { ChooseRepresentation, Representation } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { Queries } from '../../modules/database.js'
import { createIncomingPaymentList } from '../../modules/incoming-payments/index.js'
import { createOutgoingPaymentList } from '../../modules/outgoing-payments/index.js'
import { writePage } from './page.js'
import { parseListQuery } from './query.js'

/** What the routes need. */
export interface ListPaymentsDependencies {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly walletAddresses: WalletAddressDirectory
  readonly urls: ResourceUrls
  readonly chooseRepresentation: ChooseRepresentation<HttpRequest>
}

/**
 * `GET /incoming-payments`: the payments of a wallet address, newest first; with `list` the client's own, with `list-all`
 * all.
 */
export function listIncomingPaymentsRoute(dependencies: ListPaymentsDependencies): Route {
  return createListRoute(dependencies, {
    type: 'incoming-payment',
    path: '/incoming-payments',
    list: createIncomingPaymentList(dependencies),
    render: renderIncomingPayment
  })
}

/**
 * `GET /outgoing-payments`: the payments of a wallet address, newest first; with `list` the client's own, with `list-all`
 * all.
 */
export function listOutgoingPaymentsRoute(dependencies: ListPaymentsDependencies): Route {
  return createListRoute(dependencies, {
    type: 'outgoing-payment',
    path: '/outgoing-payments',
    list: createOutgoingPaymentList(dependencies),
    render: renderOutgoingPayment
  })
}

/** The difference between the lists of the two kinds of payment. */
interface PaymentList<Payment extends PageEnd> {
  readonly type: 'incoming-payment' | 'outgoing-payment'
  readonly path: string
  readonly list: ListPayments<Payment>
  /** Renders a payment in the list. */
  readonly render: (payment: Payment, urls: ResourceUrls, representation: Representation) => object
}

function createListRoute<Payment extends PageEnd>(
  dependencies: ListPaymentsDependencies,
  { type, path, list, render }: PaymentList<Payment>
): Route {
  return {
    method: 'GET',
    path,
    handle: async (request, response) => {
      const authorized = await dependencies.authorizer.authorize(request)
      requireReach(authorized, type, 'list', undefined)
      const query = parseListQuery(request.query)
      const walletAddress = await dependencies.walletAddresses.findByUrl(query.walletAddress)
      if (walletAddress === undefined) throw unknownWalletAddress('wallet-address')
      const reach = requireReach(authorized, type, 'list', walletAddress.url)
      const client = reach === 'own' ? authorized.client : undefined
      const found = await list(walletAddress, client, query.page)
      const representation = dependencies.chooseRepresentation(request)
      const page = writePage(query.page, found, (payment) =>
        render(payment, dependencies.urls, representation)
      )
      sendRendered(request, response, tagJson(page), { vary: 'Accept' })
    }
  }
}
