import { instantText, Statement } from '@open-payments-server/database'
import type { PacketJournal } from '@open-payments-server/interledger'
import { newId } from '@open-payments-server/value-types/identifiers'
import type { SendOrder } from '../../domain/outgoing-method.js'
import { Prisma } from '../../modules/database.js'
import {
  deliveredInTotal,
  dispatchedValue,
  packetAnswers,
  packetsToWrite,
  packetsWritten
} from '../../modules/interledger/index.js'
import { dispatchPosted } from '../../modules/ledger/index.js'
import { leaseRenewed, progressed } from '../../modules/outgoing-payments/index.js'
import type { SendingPeer } from '../../modules/peers/index.js'
import type { SendPacketsDependencies } from './dependencies.js'

// The statement that writes renews the lease: whoever lost it writes nothing, and so sends nothing. What a fulfilled packet sent is owed to
// its peer from then on. A number of changed rows that is wrong fails the statement, and nothing of it is kept.
const WRITE = new Statement(
  'write-packets',
  Prisma.sql`
  with ${packetAnswers}, ${leaseRenewed(dispatchedValue)}, ${packetsWritten}, ${dispatchPosted}, ${progressed(deliveredInTotal)}
  select string_agg(format('packets must change %s %s, and would change %s', wanted, name, changed), '; ')::integer as wrong
    from (values ('leases', 1, (select count(*) from lease)),
                 ('answers', (select count(*) from answer), (select count(*) from answered)),
                 ('dispatches', (select count(*) from answer where outcome = 'fulfilled'), (select count(*) from dispatch)),
                 ('packets', (select count(*) from packet), (select count(*) from written))) as part (name, wanted, changed)
   where changed <> wanted`
)

/**
 * Where the packets of a payment are written down, while this process may send it.
 *
 * @param leaseMs for how long nobody else sends it after something was written
 */
export function createPacketJournal(
  { paymentId, leasedBy }: Pick<SendOrder, 'paymentId' | 'leasedBy'>,
  { id: peerId, payableAccountId }: Pick<SendingPeer, 'id' | 'payableAccountId'>,
  { database, clock, random }: Pick<SendPacketsDependencies, 'database' | 'clock' | 'random'>,
  leaseMs: number
): PacketJournal {
  return {
    async write(answers, packets) {
      const nowMs = clock.now()
      await WRITE.rows(database, {
        ...packetsToWrite(answers, packets, () => newId(clock, random)),
        paymentId,
        leasedBy,
        leasedUntil: instantText(nowMs + leaseMs),
        peerId,
        payableAccountId,
        now: instantText(nowMs)
      })
    }
  }
}
