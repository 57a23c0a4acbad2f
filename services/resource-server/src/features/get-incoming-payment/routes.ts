import {
  type HttpRequest,
  type HttpResponse,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { Clock } from '@open-payments-server/value-types/clock'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import { notFound } from '../../domain/errors.js'
import {
  type IncomingPayment,
  incomingPaymentEndsAtMs,
  lastIncomingPaymentEvent,
  renderPayableIncomingPayment
} from '../../domain/incoming-payment.js'
import type { PaymentMethods } from '../../domain/payment-methods.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import {
  createIncomingPaymentReader,
  type IncomingPaymentReader,
  readToldIncomingPayments
} from '../../modules/incoming-payments/index.js'
import { type ServePayment, showPayment, type ShownPayment } from '../waitable-payments.js'

/** What the route needs. */
export interface GetIncomingPaymentDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
  readonly methods: PaymentMethods
  readonly clock: Clock
  /** Grant endpoint, included in the public form. */
  readonly authServerUrl: string
  readonly servePayment: ServePayment
}

/** Both forms have the same URL; the credentials decide which one is returned. */
const VARY = 'Accept, Authorization, Signature, Signature-Input'

/** Headers that carry credentials (interface 5). */
const CREDENTIAL_HEADERS = ['authorization', 'signature', 'signature-input']

/**
 * `GET /incoming-payments/{id}`: the whole payment for a client that may read it, and its public form for a request without
 * credentials.
 */
export function getIncomingPaymentRoute(dependencies: GetIncomingPaymentDependencies): Route {
  const { database, urls, clock, servePayment } = dependencies
  const reader = createIncomingPaymentReader(dependencies)
  const show = (payment: IncomingPayment | undefined): ShownPayment | undefined =>
    payment &&
    showPayment(
      {
        ...payment,
        endsAtMs: incomingPaymentEndsAtMs(payment),
        lastEventType: lastIncomingPaymentEvent(payment)
      },
      () => renderPayableIncomingPayment(payment, { ...dependencies, nowMs: clock.now() })
    )
  const answerClient = servePayment({
    type: 'incoming-payment',
    reader: { find: async (id) => show(await reader.find(id)) },
    readTold: async (events) => (await readToldIncomingPayments(database, events, urls)).map(show),
    representationOf: () => 'full',
    vary: VARY
  })
  return {
    method: 'GET',
    path: '/incoming-payments/:id',
    handle: (request, response) =>
      carriesCredentials(request)
        ? answerClient(request, response)
        : answerPublic(request, response, dependencies, reader)
  }
}

/** Whether a request carries credentials: a token or a signature. */
function carriesCredentials(request: HttpRequest): boolean {
  return CREDENTIAL_HEADERS.some((name) => request.get(name) !== undefined)
}

async function answerPublic(
  request: HttpRequest,
  response: HttpResponse,
  dependencies: GetIncomingPaymentDependencies,
  reader: IncomingPaymentReader
): Promise<void> {
  const id = request.param('id')
  const payment = isUuid(id) ? await reader.find(id) : undefined
  if (payment === undefined) throw notFound()
  const receivedAmount = formatAmount({ value: payment.receivedValue, asset: payment.asset })
  sendResource(
    request,
    response,
    { receivedAmount, authServer: dependencies.authServerUrl },
    { updatedAtMs: payment.updatedAtMs, vary: `${VARY}, Prefer` }
  )
}
