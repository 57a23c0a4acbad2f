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
