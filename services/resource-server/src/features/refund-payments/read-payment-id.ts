import { CallRefused } from '../../domain/call-refused.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/**
 * Reads the id (UUID) of a payment that is refunded from its URL.
 *
 * @throws CallRefused `not-found` for any other text
 */
export function readPaymentId(url: string, urls: ResourceUrls): string {
  const id = urls.idOf('outgoing-payments', url)
  if (id !== undefined) return id
  throw new CallRefused('not-found', 'there is no such outgoing payment here', { field: 'refund_of' })
}
