/** The life cycle of an outgoing payment: inserted, claimed, sent if its receiver is hosted elsewhere, ended. */
export { approved, declined, deliveries } from './approval.js'
export { inserted, type NewPayment, wanted, wantedPayments } from './create.js'
export {
  awaitsApproval,
  doubtful,
  findValueWithDoubted,
  isPending,
  mayBeSent,
  sendingDoubted
} from './doubt.js'
export { findPaymentsElsewhere, oldestElsewhere } from './elsewhere.js'
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
  type ClaimedLocalPayment,
  type ClaimedLocalPaymentRow,
  type ClaimedPayment,
  claiming,
  ended,
  type Ending,
  endings,
  findFrozenPayments,
  pending,
  readClaimedLocalPayment
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
export { progressed } from './progressed.js'
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
export { isFull, payerKey, type PayerOverPeer, type SendingRoom } from './sending-room.js'
export {
  beginSending,
  beginSendingAtOnce,
  type ClaimedSending,
  claimToSend,
  type SendingClaim,
  endSending,
  findHeldSendings,
  isAwaitingApproval,
  leaseDue,
  type LeasedSending,
  leasedSending,
  leasesRenewed,
  postponeSending,
  readSendingTerms,
  sendingResumed,
  unleasedSending
} from './sending.js'
export { findTwin, type FoundPayment, giveUpPayment } from './twin.js'
export { readValuesBeingSent } from './values-being-sent.js'
