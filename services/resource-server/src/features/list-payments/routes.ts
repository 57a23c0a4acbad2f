import { type Route, sendRendered, tagJson } from '@open-payments-server/http-server'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { unknownWalletAddress } from '../../domain/errors.js'
import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  type FoundPage,
  type PageRequest,
  parseListQuery,
  type Position,
  writePage
} from '../../domain/pagination.js'
import {
  chooseRepresentation,
  type Representation,
  type RepresentationSetting
} from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { Queries } from '../../modules/database.js'
import { listIncomingPayments } from '../../modules/incoming-payments/index.js'
import { listOutgoingPayments } from '../../modules/outgoing-payments/index.js'

/** What the routes need. */
export interface ListPaymentsDeps {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer
  readonly walletAddresses: WalletAddressDirectory
  readonly urls: ResourceUrls
  readonly representation: RepresentationSetting
}

/** `GET /incoming-payments`: the payments of a wallet address, newest first; `list` its own, `list-all` everyone's. */
export function createListIncomingPaymentsRoute(deps: ListPaymentsDeps): Route {
  return createListRoute(deps, {
    type: 'incoming-payment',
    path: '/incoming-payments',
    list: listIncomingPayments(deps),
    render: renderIncomingPayment
  })
}

/** `GET /outgoing-payments`: the payments of a wallet address, newest first; `list` its own, `list-all` everyone's. */
export function createListOutgoingPaymentsRoute(deps: ListPaymentsDeps): Route {
  return createListRoute(deps, {
    type: 'outgoing-payment',
    path: '/outgoing-payments',
    list: listOutgoingPayments(deps),
    render: renderOutgoingPayment
  })
}

/** What tells the list of one kind of payment from that of the other. */
interface PaymentList<Payment extends Position> {
  readonly type: 'incoming-payment' | 'outgoing-payment'
  readonly path: string
  /** Lists a page of the payments of a wallet address (its id): only what a client created where one is given. */
  readonly list: (
    walletAddressId: string,
    client: string | undefined,
    page: PageRequest
  ) => Promise<FoundPage<Payment>>
  /** What a payment looks like in the list. */
  readonly render: (payment: Payment, urls: ResourceUrls, representation: Representation) => object
}

function createListRoute<Payment extends Position>(
  deps: ListPaymentsDeps,
  { type, path, list, render }: PaymentList<Payment>
): Route {
  return {
    method: 'GET',
    path,
    handle: async (request, response) => {
      const authorized = await deps.authorizer.authorize(request)
      requireReach(authorized, type, 'list', undefined)
      const query = parseListQuery(request.query)
      const walletAddress = await deps.walletAddresses.findByUrl(query.walletAddress)
      if (walletAddress === undefined) throw unknownWalletAddress('wallet-address')
      const reach = requireReach(authorized, type, 'list', walletAddress.url)
      const client = reach === 'own' ? authorized.client : undefined
      const found = await list(walletAddress.id, client, query.page)
      const representation = chooseRepresentation(request.get('accept'), deps.representation)
      const page = writePage(query.page, found, (payment) => render(payment, deps.urls, representation))
      sendRendered(request, response, tagJson(page), { vary: 'Accept' })
    }
  }
}
