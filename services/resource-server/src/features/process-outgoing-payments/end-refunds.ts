import { instantText, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { lockedOriginals, refundsGivenBack } from '../../modules/outgoing-payments/index.js'
import { refundEndedEvents, refundEndings, refundsEnded } from '../../modules/refunds/index.js'
import type { SettledBatch } from './settle-batch.js'

// Payments are locked before accounts are, so before the batch is written. Only batches with refunds send it.
const END_REFUNDS = new Statement(
  'end-refunds',
  Prisma.sql`
  with ${refundsEnded}, ${lockedOriginals(Prisma.sql`array(select refund_of from ending)`)}, ${refundsGivenBack}, ${appended(refundEndedEvents)}
  select string_agg(format('ending refunds must change %s %s, and would change %s', wanted, name, changed), '; ')::integer as wrong
    from (values ('refunds', (select count(*) from ending), (select count(*) from refunding)),
                 ('refunded payments', (select count(distinct refund_of) from ending), (select count(*) from counted)))
           as part (name, wanted, changed)
   where changed <> wanted`
)

/**
 * Ends the refunds that a batch of payments makes, and gives back what they did not take.
 *
 * @throws Error when anything would be changed more or less often than it must
 */
export async function endRefunds(
  transaction: Queries,
  batch: Pick<SettledBatch, 'refundEndings'>,
  nowMs: number
): Promise<void> {
  await END_REFUNDS.rows(transaction, { ...refundEndings(batch.refundEndings), now: instantText(nowMs) })
}
