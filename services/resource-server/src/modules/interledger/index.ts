/** What moved over Interledger: packets of peers that were credited here. */
export {
  type CreditedPacket,
  findReceivedPackets,
  type KnownPacket,
  packetsReceived,
  receivedEntries,
  recordedPackets
} from './received-packets.js'
