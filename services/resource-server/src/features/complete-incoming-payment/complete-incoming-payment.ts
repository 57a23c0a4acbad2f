import type { Clock } from '@open-payments-server/value-types/clock'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import type { AccessItem, AuthorizedRequest } from '../../domain/authorization.js'
import { conflict, notFound } from '../../domain/errors.js'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { roomOf } from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { requireReach } from '../../domain/visibility.js'
import type { Queries } from '../../modules/database.js'
import { completeIncomingPayment as complete } from '../../modules/incoming-payments/index.js'

/** What completing incoming payments needs. */
export interface CompleteIncomingPaymentDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly counters: Pick<PaymentCounters, 'countIncomingCompleted'>
}

/**
 * Completes an incoming payment (interface 4.6): only the client that created it may, and only while it is neither expired
 * nor completed.
 *
 * @param id as given in the path
 * @throws Refusal `insufficient-grant`; `not-found` when there is none that the client may know of; `conflict` when it has
 *   expired or was completed before
 */
export async function completeIncomingPayment(
  request: Pick<AuthorizedRequest, 'access' | 'client'>,
  id: string,
  dependencies: CompleteIncomingPaymentDependencies
): Promise<IncomingPayment> {
  requireReach(request, 'incoming-payment', 'complete', undefined)
  if (!isUuid(id)) throw notFound()
  const nowMs = dependencies.clock.now()
  const paths = coveredPaths(request.access, dependencies.urls)
  const result = await complete(
    dependencies.database,
    { id, client: request.client, paths, nowMs },
    dependencies.urls
  )
  if (result === undefined) throw notFound()
  const { payment, done } = result
  if (done) {
    dependencies.counters.countIncomingCompleted(1)
    return payment
  }
  requireReach(request, 'incoming-payment', 'complete', payment.walletAddressUrl)
  if (payment.client !== request.client) throw notFound()
  const { completed, expired } = roomOf(payment, nowMs)
  // One that is found open was completed since, by whatever this request waited for.
  throw conflict(`the incoming payment ${completed || !expired ? 'is already completed' : 'has expired'}`)
}

/** Paths of the wallet addresses whose payments may be completed; undefined for any. */
function coveredPaths(access: readonly AccessItem[], urls: ResourceUrls): string[] | undefined {
  const covering = access.filter(
    (item) => item.type === 'incoming-payment' && item.actions.includes('complete')
  )
  if (covering.some((item) => item.identifier === undefined)) return undefined
  return covering.flatMap(({ identifier = '' }) => urls.walletAddressPathOf(identifier) ?? [])
}
