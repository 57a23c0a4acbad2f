import { isoInstant } from '@open-payments-server/database'
import { type Route, sendRendered, tagJson } from '@open-payments-server/http-server'
import type { Pool } from 'pg'
import type { AccessType, RequestAuthorizer } from '../../domain/authorization.js'
import { unknownWalletAddress } from '../../domain/errors.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_JOINS,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from '../../domain/outgoing-payment-row.js'
import { parseListQuery, type Position, writePage } from '../../domain/pagination.js'
import {
  chooseRepresentation,
  type Representation,
  type RepresentationSetting
} from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { WalletAddress, WalletAddressDirectory } from '../../domain/wallet-address.js'
import {
  createIncomingPaymentWriter,
  LISTED_INCOMING_PAYMENT_COLUMNS,
  type ListedIncomingPayment
} from './listed-incoming-payment.js'
import { createPaymentLister, type ListedRow, type PaymentTable } from './repository.js'

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
  return createListRoute<ListedIncomingPayment>(deps, {
    type: 'incoming-payment',
    table: {
      name: 'incoming-payments',
      table: 'incoming_payment',
      columns: LISTED_INCOMING_PAYMENT_COLUMNS,
      joins: '',
      rowsAsText: true
    },
    createdAtMs: (row) => Date.parse(isoInstant(row.created_at)),
    createWriter: createIncomingPaymentWriter
  })
}

/** `GET /outgoing-payments`: the payments of a wallet address, newest first; `list` its own, `list-all` everyone's. */
export function createListOutgoingPaymentsRoute(deps: ListPaymentsDeps): Route {
  return createListRoute<OutgoingPaymentRow>(deps, {
    type: 'outgoing-payment',
    table: {
      name: 'outgoing-payments',
      table: 'outgoing_payment',
      columns: OUTGOING_PAYMENT_COLUMNS,
      joins: OUTGOING_PAYMENT_JOINS,
      rowsAsText: false
    },
    createdAtMs: (row) => row.created_at.getTime(),
    createWriter: (_walletAddress, urls, representation) => (row) =>
      JSON.stringify(renderOutgoingPayment(readOutgoingPaymentRow(row, urls), urls, representation))
  })
}

/** What tells the list of one kind of payment from that of the other. */
interface PaymentList<Row> {
  readonly type: AccessType
  readonly table: PaymentTable
  /** When a payment was created. */
  readonly createdAtMs: (row: Row) => number
  /** Makes what writes the JSON of the payments of a wallet address. */
  readonly createWriter: (
    walletAddress: WalletAddress,
    urls: ResourceUrls,
    representation: Representation
  ) => (row: Row) => string
}

function createListRoute<Row extends ListedRow>(
  deps: ListPaymentsDeps,
  { type, table, createdAtMs, createWriter }: PaymentList<Row>
): Route {
  const lister = createPaymentLister<Row>(table, deps)
  const positionOf = (row: Row): Position => ({ createdAtMs: createdAtMs(row), id: row.id })
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
      const write = createWriter(walletAddress, deps.urls, representation)
      const page = tagJson(writePage(query.page, found, positionOf, write))
      sendRendered(request, response, page, { vary: 'Accept' })
    }
  }
}
