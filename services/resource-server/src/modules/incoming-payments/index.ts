/** Incoming payments: what they may still receive, how they receive it, and how they end. */
export { completeIncomingPayment } from './complete.js'
export { createIncomingPaymentStore, type IncomingPaymentStore, type NewIncomingPayment } from './create.js'
export { describeIncomingPayments, type DescribedIncomingPayment } from './describe.js'
export { expiredIncomingPaymentEvents, readToldIncomingPayments, receivedEvents } from './events.js'
export { createIncomingPaymentList, listNewestIncomingPayments } from './list.js'
export { purgeIncomingPayments } from './purge.js'
export { createIncomingPaymentReader, type IncomingPaymentReader } from './read.js'
export { findReceivingState } from './receiving-state.js'
export { received, receipts } from './receive.js'
export { createReceiverDirectory, rememberReceivers } from './receivers.js'
export {
  canGoOn,
  canTake,
  frozenReceivers,
  isFrozenReceiver,
  type LockedReceiver,
  lockedReceivers,
  readLockedReceiver,
  type LockedReceiverRow,
  walletAddressOf
} from './room.js'
