import { sendResource, type Route } from '@open-payments-server/http-server'
import type { Pool, QueryResultRow } from 'pg'
import type { AccessType, RequestAuthorizer } from '../../domain/authorization.js'
import { unknownWalletAddress } from '../../domain/errors.js'
import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  readIncomingPaymentRow
} from '../../domain/incoming-payment-row.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_TABLES,
  readOutgoingPaymentRow
} from '../../domain/outgoing-payment-row.js'
import { parseListQuery, type Position, toPage } from '../../domain/pagination.js'
import {
  chooseRepresentation,
  type Representation,
  type RepresentationSetting
} from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddressDirectory } from '../../domain/wallet-address.js'
import { createPaymentLister, type PaymentTable } from './repository.js'

/** What the routes need. */
export interface ListPaymentsDeps {
  readonly pool: Pool
  readonly authorizer: RequestAuthorizer
  readonly walletAddresses: WalletAddressDirectory
  readonly urls: ResourceUrls
  readonly representation: RepresentationSetting
}

/** `GET /incoming-payments`: the payments of a wallet address, newest first; `list` its own, `list-all` everyone's. */
export function createListIncomingPaymentsRoute(deps: ListPaymentsDeps): Route {
  return createListRoute(deps, {
    type: 'incoming-payment',
    table: {
      name: 'incoming-payments',
      table: 'incoming_payment',
      columns: INCOMING_PAYMENT_COLUMNS,
      from: `incoming_payment p ${INCOMING_PAYMENT_JOINS}`,
      read: readIncomingPaymentRow
    },
    render: renderIncomingPayment
  })
}

/** `GET /outgoing-payments`: the payments of a wallet address, newest first; `list` its own, `list-all` everyone's. */
export function createListOutgoingPaymentsRoute(deps: ListPaymentsDeps): Route {
  return createListRoute(deps, {
    type: 'outgoing-payment',
    table: {
      name: 'outgoing-payments',
      table: 'outgoing_payment',
      columns: OUTGOING_PAYMENT_COLUMNS,
      from: OUTGOING_PAYMENT_TABLES,
      read: readOutgoingPaymentRow
    },
    render: renderOutgoingPayment
  })
}

/** What tells the list of one kind of payment from that of the other. */
interface PaymentList<Row, Payment> {
  readonly type: AccessType
  readonly table: PaymentTable<Row, Payment>
  readonly render: (payment: Payment, urls: ResourceUrls, representation: Representation) => object
}

function createListRoute<Row extends QueryResultRow, Payment extends Position>(
  deps: ListPaymentsDeps,
  { type, table, render }: PaymentList<Row, Payment>
): Route {
  const lister = createPaymentLister(table, deps)
  return {
    method: 'GET',
    path: `/${table.name}`,
    handle: async (request, response) => {
      const authorized = await deps.authorizer.authorize(request)
      requireReach(authorized, type, 'list', undefined)
      const query = parseListQuery(request.query)
      const walletAddress = await deps.walletAddresses.findByUrl(query.walletAddress)
      if (walletAddress === undefined) throw unknownWalletAddress('wallet-address')
      const reach = requireReach(authorized, type, 'list', walletAddress.url)
      const client = reach === 'own' ? authorized.client : undefined
      const found = await lister.list(walletAddress.id, client, query.page)
      const representation = chooseRepresentation(request.get('accept'), deps.representation)
      const page = toPage(
        query.page,
        found,
        (payment) => payment,
        (payment) => render(payment, deps.urls, representation)
      )
      sendResource(request, response, page, { vary: 'Accept' })
    }
  }
}
