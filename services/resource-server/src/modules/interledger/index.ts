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
  deliveredInTotal,
  deliveredWithDecided,
  dispatchedValues,
  listUnknownPackets,
  packetAnswers,
  packetDecided,
  packetsToWrite,
  packetsWritten,
  type PaymentPackets,
  readProgress,
  sentEntries,
  undecidedPacket,
  unknownPacketCount,
  type UnknownPacket
} from './sent-packets.js'
