import type { PostClient } from '@open-payments-server/http-client'
import type { SenderClock } from '@open-payments-server/interledger'
import type { Logger } from '@open-payments-server/runtime'
import type { SecretBox } from '@open-payments-server/runtime/secret-box'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { SentPacketCounters } from '../../domain/packet-counters.js'
import type { TermSources } from '../../domain/quoting.js'
import type { Queries } from '../../modules/database.js'
import type { SendingPeer } from '../../modules/peers/index.js'
import type { ReceiverReader } from '../../other-providers/index.js'
import type { PacketJournals } from './journal.js'
import type { RecentReceivers } from './recent-receivers.js'

/** What paying over Interledger needs. */
export interface SendPacketsDependencies {
  readonly database: Queries
  /** Reads what is to be paid. */
  readonly receivers: ReceiverReader
  readonly recentReceivers: RecentReceivers
  readonly journals: PacketJournals
  /** Finds the peer with an id (UUID): those that are looked for at a time, together. */
  readonly findPeer: (id: string) => Promise<SendingPeer | undefined>
  readonly termSources: TermSources
  /** Posts packets to peers. */
  readonly peerClient: PostClient
  /** Decrypts what they expect. */
  readonly peerSecrets: SecretBox
  readonly counters: SentPacketCounters
  /** Logs why a packet to a peer (id, UUID) got no answer. */
  readonly logTrouble: (peerId: string, error: Error) => void
  readonly clock: SenderClock
  readonly random: Random
  readonly logger: Logger
  /** The reserve of quotes for rates that change until the payment, in basis points: 0 to 9,999. */
  readonly slippageBasisPoints: number
}
