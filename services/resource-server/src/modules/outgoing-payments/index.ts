/** The life cycle of an outgoing payment: inserted, claimed, ended; and the port to whatever moves its money. */
export { approved, declined, deliveries } from './approval.js'
export { inserted, type NewPayment, wanted, wantedPayments } from './create.js'
export { approvedEvents, endedEvents, insertedEvents, readToldOutgoingPayments } from './events.js'
export type { ListedPayment } from '../newest-payments.js'
export type { PaymentMethod } from './payment-method.js'
export {
  type Claim,
  claimed,
  type ClaimedPayment,
  type ClaimedPaymentRow,
  claiming,
  ended,
  type Ending,
  endings,
  findFrozenPayments,
  pending,
  readClaimedPayment
} from './process.js'
export {
  createOutgoingPaymentReader,
  isPaidFrom,
  isQuoteUsed,
  listNewestOutgoingPayments,
  createOutgoingPaymentList,
  paymentOfQuote
} from './read.js'
export {
  canRefund,
  findRefundable,
  lockedOriginals,
  readSides,
  type RefundablePayment,
  refundCounted,
  refundsGivenBack,
  stateOf
} from './refund.js'
export { findTwin, type FoundPayment, giveUpPayment } from './twin.js'
