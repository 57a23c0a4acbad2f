export { type AmountTooLarge, decodeAmountTooLarge, encodeAmountTooLarge } from './amount-too-large.js'
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
export {
  createPaymentAddresses,
  type PaymentAddresses,
  type PaymentTarget,
  type ReceivingServer,
  type ResolvedAddress,
  type StreamCredentials
} from './payment-addresses.js'
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
