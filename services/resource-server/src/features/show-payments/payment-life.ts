import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Approval } from '../../domain/approval.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { Refund } from '../../domain/refund.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { findApproval, listAwaiting } from '../../modules/approvals/index.js'
import type { Queries } from '../../modules/database.js'
import { findOutcome, type FoundOutcome } from '../../modules/grant-outcomes/index.js'
import { createIncomingPaymentReader } from '../../modules/incoming-payments/index.js'
import { type LedgerEntry, listEntriesOf } from '../../modules/ledger/index.js'
import {
  createOutgoingPaymentReader,
  findPaymentDetails,
  type PaymentDetails
} from '../../modules/outgoing-payments/index.js'
import { listRefunds } from '../../modules/refunds/index.js'

/** Maximum number of entries and of refunds that are shown of one payment. */
const SHOWN_MAX = 100

/** What showing payments needs. */
export interface ShowPaymentsDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
  readonly clock: Clock
}

/** All that belongs to an incoming payment. */
export interface IncomingLife {
  readonly kind: 'incoming'
  readonly payment: IncomingPayment
  readonly isExpired: boolean
  readonly entries: readonly LedgerEntry[]
}

/** All that belongs to an outgoing payment. */
export interface OutgoingLife {
  readonly kind: 'outgoing'
  readonly payment: OutgoingPayment
  readonly details: PaymentDetails
  /** undefined for a payment that met no rule. */
  readonly approval: Approval | undefined
  /** undefined when there is no entry for it. */
  readonly outcome: FoundOutcome | undefined
  readonly refunds: readonly Refund[]
  readonly entries: readonly LedgerEntry[]
}

/**
 * Reads all that belongs to a payment, of either kind.
 *
 * @throws CallRefused `invalid` for a malformed id, `not-found`
 */
export async function showPaymentLife(
  id: string,
  dependencies: ShowPaymentsDependencies
): Promise<IncomingLife | OutgoingLife> {
  if (!isUuid(id)) throw invalidCallField('payment_id', 'must be a lower-case UUID')
  const { database } = dependencies
  // First: a decision is final, and the payment that is read after it shows it.
  const approval = await findApproval(database, id)
  const [payment, details] = await Promise.all([
    createOutgoingPaymentReader(dependencies).find(id),
    findPaymentDetails(database, id)
  ])
  if (payment === undefined || details === undefined) return showIncoming(id, dependencies)
  const [outcome, entries, refunds] = await Promise.all([
    findOutcome(database, id),
    listEntriesOf(database, { paymentId: id }, SHOWN_MAX),
    listRefunds(database, { refundOf: id, after: undefined, limit: SHOWN_MAX })
  ])
  return { kind: 'outgoing', payment, details, approval, outcome, entries, refunds }
}

async function showIncoming(id: string, dependencies: ShowPaymentsDependencies): Promise<IncomingLife> {
  const payment = await createIncomingPaymentReader(dependencies).find(id)
  if (payment === undefined)
    throw new CallRefused('not-found', 'there is no such payment', { field: 'payment_id' })
  const entries = await listEntriesOf(dependencies.database, { incomingPaymentId: id }, SHOWN_MAX)
  const isExpired = !payment.completed && payment.expiresAtMs <= dependencies.clock.now()
  return { kind: 'incoming', payment, isExpired, entries }
}

/** A payment that awaits approval. */
export interface ShownAwaiting {
  readonly payment: OutgoingPayment
  readonly approval: Approval
}

/**
 * Lists payments that await approval: those first that are declined first unless they are decided. A payment that is not there yet, in
 * the database that is read, is left out.
 */
export async function listAwaitingPayments(
  range: { readonly after: PageEnd | undefined; readonly limit: number },
  dependencies: ShowPaymentsDependencies
): Promise<readonly ShownAwaiting[]> {
  const awaiting = await listAwaiting(dependencies.database, range)
  const reader = createOutgoingPaymentReader(dependencies)
  const payments = await Promise.all(awaiting.map(({ paymentId }) => reader.find(paymentId)))
  return awaiting.flatMap(({ approval }, index) => {
    const payment = payments[index]
    return payment === undefined ? [] : [{ payment, approval }]
  })
}
