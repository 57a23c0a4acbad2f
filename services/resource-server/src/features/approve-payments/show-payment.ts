import type { Approval } from '../../domain/approval.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { findApproval } from '../../modules/approvals/index.js'
import type { Queries } from '../../modules/database.js'
import { createOutgoingPaymentReader } from '../../modules/outgoing-payments/index.js'

/** An outgoing payment as operators see it. */
export interface ShownPayment {
  readonly payment: OutgoingPayment
  /** undefined for a payment that met no rule. */
  readonly approval: Approval | undefined
}

/** What showing a payment needs. */
export interface ShowPaymentDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/**
 * Shows an outgoing payment.
 *
 * @param url of the payment
 * @throws CallRefused `invalid` for a text that is not the URL of an outgoing payment of this service, `not-found`
 */
export async function showPayment(url: string, dependencies: ShowPaymentDependencies): Promise<ShownPayment> {
  return readPayment(readPaymentId(url, dependencies), dependencies)
}

/**
 * The id (UUID) of the outgoing payment with a URL.
 *
 * @throws CallRefused `invalid` for a text that is not the URL of an outgoing payment of this service
 */
export function readPaymentId(url: string, { urls }: Pick<ShowPaymentDependencies, 'urls'>): string {
  const id = urls.idOf('outgoing-payments', url)
  if (id !== undefined) return id
  throw invalidCallField(
    'outgoing_payment',
    `must begin with ${urls.of('outgoing-payments', '')} and end with its id`
  )
}

/**
 * Reads an outgoing payment by its id (UUID).
 *
 * @throws CallRefused `not-found`
 */
export async function readPayment(id: string, dependencies: ShowPaymentDependencies): Promise<ShownPayment> {
  // First: a decision is final, and the payment that is read after it shows it.
  const approval = await findApproval(dependencies.database, id)
  const payment = await createOutgoingPaymentReader(dependencies).find(id)
  if (payment === undefined)
    throw new CallRefused('not-found', 'there is no such outgoing payment', { field: 'outgoing_payment' })
  return { payment, approval }
}
