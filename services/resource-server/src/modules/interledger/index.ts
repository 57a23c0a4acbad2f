/** What moved over Interledger: packets of peers that were credited here, and packets that were sent to them. */
export {
  type CreditedPacket,
  findReceivedPackets,
  type KnownPacket,
  packetsReceived,
  receivedEntries,
  recordedPackets
} from './received-packets.js'
export {
  deliveredInTotal,
  dispatchedValue,
  listUnknownPackets,
  packetAnswers,
  packetDecided,
  packetsToWrite,
  packetsWritten,
  readProgress,
  sentEntries,
  undecidedPacket,
  type UnknownPacket
} from './sent-packets.js'
