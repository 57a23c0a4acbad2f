import {
  type HttpRequest,
  type HttpResponse,
  type Route,
  sendResource
} from '@open-payments-server/http-server'
import { type Clock, isUuid } from '@open-payments-server/runtime'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import type { RequestAuthorizer } from '../../domain/authorization.js'
import { carriesCredentials } from '../../domain/credentials.js'
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
export interface GetIncomingPaymentDeps {
  readonly database: Queries
  readonly authorizer: RequestAuthorizer
  readonly urls: ResourceUrls
  readonly methods: PaymentMethods
  readonly clock: Clock
  /** Grant endpoint, told with the public form. */
  readonly authServerUrl: string
}

/** Both forms have one URL: which one is answered, the credentials decide. */
const VARY = 'Accept, Authorization, Signature, Signature-Input'

/**
 * `GET /incoming-payments/{id}`: the whole payment for a client that may read it, and its public form for a request that
 * carries no credentials at all.
 */
export function createGetIncomingPaymentRoute(deps: GetIncomingPaymentDeps): Route {
  const reader = createIncomingPaymentReader(deps)
  return {
    method: 'GET',
    path: '/incoming-payments/:id',
    handle: async (request, response) => {
      if (carriesCredentials(request)) await answerClient(request, response, deps, reader)
      else await answerPublic(request, response, deps, reader)
    }
  }
}

async function answerClient(
  request: HttpRequest,
  response: HttpResponse,
  deps: GetIncomingPaymentDeps,
  reader: IncomingPaymentReader
): Promise<void> {
  const payment = await readVisible(request, request.param('id'), {
    authorizer: deps.authorizer,
    type: 'incoming-payment',
    reader
  })
  const nowMs = deps.clock.now()
  sendResource(request, response, renderPayableIncomingPayment(payment, { ...deps, nowMs }), {
    updatedAtMs: payment.updatedAtMs,
    vary: VARY
  })
}

async function answerPublic(
  request: HttpRequest,
  response: HttpResponse,
  deps: GetIncomingPaymentDeps,
  reader: IncomingPaymentReader
): Promise<void> {
  const id = request.param('id')
  const payment = isUuid(id) ? await reader.find(id) : undefined
  if (payment === undefined) throw notFound()
  const receivedAmount = formatAmount({ value: payment.receivedValue, asset: payment.asset })
  sendResource(
    request,
    response,
    { receivedAmount, authServer: deps.authServerUrl },
    { updatedAtMs: payment.updatedAtMs, vary: VARY }
  )
}
