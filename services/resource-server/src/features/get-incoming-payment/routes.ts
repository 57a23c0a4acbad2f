import {
  type HttpRequest,
  type HttpResponse,
  type IncomingRequest,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import type { Clock } from '@open-payments-server/value-types/clock'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { notFound } from '../../domain/errors.js'
import { renderPayableIncomingPayment } from '../../domain/incoming-payment.js'
import type { PaymentMethods } from '../../domain/payment-methods.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { readVisible } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import {
  createIncomingPaymentReader,
  type IncomingPaymentReader
} from '../../modules/incoming-payments/index.js'

/** What the route needs. */
export interface GetIncomingPaymentDependencies {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer<IncomingRequest>
  readonly urls: ResourceUrls
  readonly methods: PaymentMethods
  readonly clock: Clock
  /** Grant endpoint, included in the public form. */
  readonly authServerUrl: string
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
  const reader = createIncomingPaymentReader(dependencies)
  return {
    method: 'GET',
    path: '/incoming-payments/:id',
    handle: async (request, response) => {
      if (carriesCredentials(request)) await answerClient(request, response, dependencies, reader)
      else await answerPublic(request, response, dependencies, reader)
    }
  }
}

/** Whether a request carries credentials: a token or a signature. */
function carriesCredentials(request: HttpRequest): boolean {
  return CREDENTIAL_HEADERS.some((name) => request.get(name) !== undefined)
}

async function answerClient(
  request: HttpRequest,
  response: HttpResponse,
  dependencies: GetIncomingPaymentDependencies,
  reader: IncomingPaymentReader
): Promise<void> {
  const payment = await readVisible(request, request.param('id'), {
    authorizer: dependencies.authorizer,
    type: 'incoming-payment',
    reader
  })
  const nowMs = dependencies.clock.now()
  sendResource(request, response, renderPayableIncomingPayment(payment, { ...dependencies, nowMs }), {
    updatedAtMs: payment.updatedAtMs,
    vary: VARY
  })
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
    { updatedAtMs: payment.updatedAtMs, vary: VARY }
  )
}
