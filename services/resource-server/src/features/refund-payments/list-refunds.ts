import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { Refund } from '../../domain/refund.js'
import * as refunds from '../../modules/refunds/index.js'
import type { RefundDependencies } from './dependencies.js'
import { readPaymentId } from './read-payment-id.js'

/**
 * Lists refunds, newest first; those of clients' payments too.
 *
 * @param request.refundOf URL of the payment whose refunds are listed; empty for those of all
 * @param request.after position after which the list begins; undefined starts with the newest
 * @throws CallRefused `not-found` for a text that is not the URL of an outgoing payment here
 */
export async function listRefunds(
  request: { readonly refundOf: string; readonly after: PageEnd | undefined; readonly limit: number },
  { database, urls }: Pick<RefundDependencies, 'database' | 'urls'>
): Promise<readonly Refund[]> {
  const refundOf = request.refundOf === '' ? undefined : readPaymentId(request.refundOf, urls)
  return refunds.listRefunds(database, { ...request, refundOf })
}
