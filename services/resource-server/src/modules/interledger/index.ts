/** What moved over Interledger: packets of peers that were credited here, and packets that were sent to them. */
export {
  type CreditedPacket,
  findReceivedPacket,
  type KnownPacket,
  type KnownPacketRow,
  knownPackets,
  packetsReceived,
  readKnownPackets,
  receivedEntries,
  recordedPackets
} from './received-packets.js'
export {
  ANSWERED_WITHIN_SECONDS,
  arrivedValueFits,
  deliveredInTotal,
  deliveredWithDecided,
  dispatchedValues,
  isAnyPacketWritten,
  listUnknownPackets,
  packetAnswers,
  packetDecided,
  packetsToFind,
  packetsToWrite,
  packetsWritten,
  type PaymentPackets,
  readProgress,
  type SentPacket,
  sentEntries,
  findSentPacket,
  hasUnknownPackets,
  undecidedPacket,
  unknownPacketCount,
  unknownValue,
  type UnknownPacket
} from './sent-packets.js'
export {
  fulfilledValue,
  hasArrived,
  standIns,
  standInsWritten,
  wasDecidedLost,
  wasDoubted
} from './stand-ins.js'
