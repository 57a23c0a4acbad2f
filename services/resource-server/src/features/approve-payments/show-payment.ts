import type { Approval } from '../../domain/approval.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { Holder } from '../../domain/holder.js'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { findApproval } from '../../modules/approvals/index.js'
import type { Queries } from '../../modules/database.js'
import { describeIncomingPayments } from '../../modules/incoming-payments/index.js'
import { createOutgoingPaymentReader } from '../../modules/outgoing-payments/index.js'
import { findHolding } from '../../modules/wallet-addresses/index.js'

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
 * Finds who pays: whom an operator named as the holder of the account behind the payment's wallet address.
 *
 * @param url of the payment
 * @returns undefined where no operator named anybody
 * @throws CallRefused as {@link showPayment}
 */
export async function findPayer(
  url: string,
  dependencies: ShowPaymentDependencies
): Promise<Holder | undefined> {
  return payerOf((await showPayment(url, dependencies)).payment, dependencies)
}

/**
 * Finds who pays, as {@link findPayer}, by the payment's id (UUID).
 *
 * @returns undefined also where there is no such payment
 */
export async function findPayerOfId(
  id: string,
  dependencies: ShowPaymentDependencies
): Promise<Holder | undefined> {
  const payment = await createOutgoingPaymentReader(dependencies).find(id)
  return payment && payerOf(payment, dependencies)
}

async function payerOf(
  { id, walletAddressUrl }: OutgoingPayment,
  { database, urls }: ShowPaymentDependencies
): Promise<Holder | undefined> {
  const path = urls.walletAddressPathOf(walletAddressUrl)
  const holding = path === undefined ? undefined : await findHolding(database, path)
  if (holding === undefined) throw new Error(`payment ${id} is from no wallet address`)
  return holding.holder
}

/**
 * Finds who is paid: whom an operator named as the holder of the account behind the incoming payment that a payment is for.
 *
 * @param url of the payment
 * @returns undefined where no operator named anybody, or another provider is paid
 * @throws CallRefused as {@link showPayment}
 */
export async function findPayee(
  url: string,
  dependencies: ShowPaymentDependencies
): Promise<Holder | undefined> {
  const { database, urls } = dependencies
  const { payment } = await showPayment(url, dependencies)
  const id = urls.idOf('incoming-payments', payment.receiver)
  const received = id === undefined ? undefined : (await describeIncomingPayments(database, [id])).get(id)
  return received && (await findHolding(database, received.path))?.holder
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
