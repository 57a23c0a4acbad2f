import { instantText, Statement, writeTogether } from '@open-payments-server/database'
import type { JournalAnswer, PacketJournal } from '@open-payments-server/interledger'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import type { SentPacketCounters } from '../../domain/packet-counters.js'
import type { SendOrder } from '../../domain/outgoing-method.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  deliveredInTotal,
  dispatchedValues,
  packetAnswers,
  packetsToWrite,
  packetsWritten,
  type PaymentPackets
} from '../../modules/interledger/index.js'
import { dispatchPosted } from '../../modules/ledger/index.js'
import { leasesRenewed, progressed } from '../../modules/outgoing-payments/index.js'
import { highLiquidityEvents, type SendingPeer } from '../../modules/peers/index.js'
import { writeUntilCertain } from './write-until-certain.js'

// The statement that writes renews the leases: whoever lost one writes nothing, and so sends nothing. What fulfilled packets sent is owed to
// their peer from then on. A number of changed rows that is wrong fails the statement, and nothing of it is kept.
const WRITE = new Statement(
  'write-packets',
  Prisma.sql`
  with ${packetAnswers}, ${leasesRenewed(dispatchedValues)}, ${packetsWritten}, ${dispatchPosted},
       ${progressed(deliveredInTotal)}, ${appended(highLiquidityEvents)}
  select string_agg(format('packets must change %s %s, and would change %s', wanted, name, changed), '; ')::integer as wrong
    from (values ('leases', (select count(*) from entry), (select count(*) from lease)),
                 ('answers', (select count(*) from answer), (select count(*) from answered)),
                 ('dispatches', (select count(*) from answer where outcome = 'fulfilled'), (select count(*) from dispatch)),
                 ('packets', (select count(*) from packet), (select count(*) from written))) as part (name, wanted, changed)
   where changed <> wanted`
)

/** Maximum number of peers for which payments are written together. */
const PEERS_MAX = 10_000

/** How long before the end of a lease nothing is tried again any more, in milliseconds: connecting and a statement take no longer together. */
const LEASE_MARGIN_MS = 10_000

/** Where the packets of payments are written down. */
export interface PacketJournals {
  /** That of a payment, while it may be sent with its lease. */
  of(order: Pick<SendOrder, 'paymentId' | 'leaseId' | 'leasedUntilMs'>, peer: JournalPeer): PacketJournal
}

type JournalPeer = Pick<SendingPeer, 'id' | 'payableAccountId'>

/**
 * Writes down packets: those of payments to the same peer, which one process sends, together.
 *
 * @param dependencies.leaseMs for how long nobody else sends a payment after something of it was written
 */
export function createPacketJournals({
  database,
  clock,
  random,
  counters,
  leaseMs,
  logger
}: {
  readonly database: Queries
  readonly clock: Clock
  readonly random: Random
  readonly counters: Pick<SentPacketCounters, 'countSentPacket'>
  readonly leaseMs: number
  readonly logger: Logger
}): PacketJournals {
  const writers = new LRUCache<string, (entry: PaymentPackets) => Promise<unknown>>({ max: PEERS_MAX })
  const createWriter = ({ id: peerId, payableAccountId }: JournalPeer) =>
    writeTogether(async (entries: readonly PaymentPackets[]) => {
      const nowMs = clock.now()
      await WRITE.rows(database, {
        ...packetsToWrite(entries, () => newId(clock, random)),
        leasedUntil: instantText(nowMs + leaseMs),
        peerId,
        payableAccountId,
        now: instantText(nowMs)
      })
      return entries
    })
  return {
    of({ paymentId, leaseId, leasedUntilMs }, peer) {
      const write = writers.get(peer.id) ?? createWriter(peer)
      writers.set(peer.id, write)
      let leaseEndsMs = leasedUntilMs
      return {
        async write(answers, packets) {
          const nowMs = clock.now()
          const untilMs = leaseEndsMs - LEASE_MARGIN_MS
          const entry = { paymentId, leaseId, answers, packets }
          await writeUntilCertain(entry, write, { untilMs, database, clock, logger })
          // At the earliest: it may have been written by a later attempt.
          leaseEndsMs = nowMs + leaseMs
          for (const answer of answers) counters.countSentPacket(resultOf(answer))
        }
      }
    }
  }
}

function resultOf(answer: JournalAnswer): string {
  switch (answer.outcome) {
    case 'fulfilled':
      return 'fulfill'
    case 'rejected':
      return answer.code
    case 'unknown':
      return 'unknown'
  }
}
