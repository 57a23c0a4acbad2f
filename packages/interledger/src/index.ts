export { type AmountTooLarge, decodeAmountTooLarge, encodeAmountTooLarge } from './amount-too-large.js'
export {
  type OutgoingPacket,
  PacketNotSent,
  type PacketPath,
  type SealedPacket,
  sealPacket,
  type SendDependencies,
  type UnknownBecause
} from './exchange.js'
export { type Fraction, isLess } from './fraction.js'
export {
  decodePrepare,
  decodeReply,
  encodePrepare,
  encodeReply,
  type Fulfill,
  isIlpAddress,
  type Prepare,
  type Reject,
  type Reply
} from './packet.js'
export { PacketError } from './packet-error.js'
export { type PathRate, rateOfPacket } from './path-rate.js'
export {
  type JournalAnswer,
  type JournalPacket,
  type PacketJournal,
  pay,
  type PayDependencies,
  type PayEnd,
  type PayOrder,
  type PayResult
} from './pay.js'
export { type KnownPath, NO_PROGRESS, type PaymentProgress } from './pay-plan.js'
export {
  createPaymentAddresses,
  type PaymentAddresses,
  type PaymentTarget,
  type ReceivingServer,
  type ResolvedAddress,
  type StreamCredentials
} from './payment-addresses.js'
export { probe, type ProbedPath, type ProbeFailure, type ProbeResult } from './probe.js'
export { DEFAULT_SLIPPAGE_BASIS_POINTS, type SendTerms, termsFromDeliver, termsFromSend } from './quote.js'
export { isFinal } from './reject-codes.js'
export {
  type Arrival,
  type ArrivedPacket,
  createStreamReceiver,
  type CreditResult,
  type FoundPacket,
  type PaymentCredits,
  type ReceiverDependencies,
  type StreamReceiver
} from './receiver.js'
export { createSenderClock, type SenderClock } from './sender-clock.js'
export { conditionOf, type StreamKeys, streamKeys } from './stream-keys.js'
