/** The life cycle of an outgoing payment: inserted, claimed, sent if its receiver is hosted elsewhere, ended. */
export { approved, declined, deliveries } from './approval.js'
export { inserted, type NewPayment, wanted, wantedPayments } from './create.js'
export {
  approvedEvents,
  endedEvents,
  insertedEvents,
  partiallySentEvents,
  readToldOutgoingPayments
} from './events.js'
export { type HeldPayment, type HeldPaymentRange, listHeldPayments } from './held.js'
export type { ListedPayment, NewestFilter } from '../newest-payments.js'
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
  findMissingPayments,
  findPaymentDetails,
  isPaidFrom,
  isQuoteUsed,
  listNewestOutgoingPayments,
  createOutgoingPaymentList,
  type PaymentDetails,
  paymentOfQuote
} from './read.js'
export {
  canRefund,
  findRefundable,
  isElsewhere,
  lockedOriginals,
  readSides,
  type RefundablePayment,
  refundCounted,
  refundsGivenBack,
  stateOf
} from './refund.js'
export {
  beginSending,
  beginSendingAtOnce,
  type ClaimedSending,
  claimToSend,
  type SendingClaim,
  endSending,
  findHeldSendings,
  findPaymentsElsewhere,
  leaseDue,
  type LeasedSending,
  leasesRenewed,
  oldestElsewhere,
  postponeSending,
  progressed,
  readSendingTerms,
  readValuesBeingSent,
  sendingResumed,
  unleasedSending
} from './sending.js'
export { findTwin, type FoundPayment, giveUpPayment } from './twin.js'
