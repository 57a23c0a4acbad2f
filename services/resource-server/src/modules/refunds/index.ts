/** Refunds: what was given back of what outgoing payments delivered, by the provider or by clients' payments. */
export {
  asked,
  askedRefund,
  type NewRefund,
  refundByPayment,
  type RefundByPayment,
  refunded,
  refundedByPayment,
  type RefundIdentity
} from './create.js'
export { type RefundEnding, refundEndings, refundsEnded, refundsFailed } from './end.js'
export { readToldRefunds, refundCreatedEvents, refundEndedEvents } from './events.js'
export { findRefund, listRefunds } from './read.js'
export {
  isReturnedTo,
  readShownRefunds,
  refundedOfIncoming,
  refundedTo,
  type RefundRow,
  shownRefunds
} from './row.js'
