import { instantText, inTransaction, Statement } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { paid } from '../../modules/approvals/index.js'
import { type Database, Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { determined } from '../../modules/grant-outcomes/index.js'
import {
  type LockedReceiver,
  lockedReceivers,
  type LockedReceiverRow,
  readLockedReceiver,
  received,
  receivedEvents,
  receipts
} from '../../modules/incoming-payments/index.js'
import { movements, posted, type ProviderAccountDirectory } from '../../modules/ledger/index.js'
import {
  type Claim,
  claimed,
  type ClaimedLocalPayment,
  type ClaimedLocalPaymentRow,
  claiming,
  ended,
  endedEvents,
  endings,
  readClaimedLocalPayment
} from '../../modules/outgoing-payments/index.js'
import { endRefunds } from './end-refunds.js'
import { settleBatch, type SettledBatch } from './settle-batch.js'

/** What processing a batch needs. */
export interface ProcessBatchDependencies {
  readonly database: Database
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
  readonly providerAccounts: ProviderAccountDirectory
}

/**
 * Claims pending payments to receivers hosted here, settles them one after the other and writes the changes, in one
 * transaction: what was claimed stays locked until it is written.
 *
 * @returns the results; none if there were no payments
 */
export function processBatch(
  claim: Claim,
  { database, urls, clock, random, providerAccounts }: ProcessBatchDependencies
): Promise<Pick<SettledBatch, 'endings' | 'filledCount'>> {
  return inTransaction(database, async (transaction: Queries) => {
    const { payments, receivers } = await claimPayments(transaction, claim, urls)
    if (payments.length === 0) return { endings: [], filledCount: 0 }
    const provider = await providerAccounts.find(
      transaction,
      payments.flatMap(({ debitAssetId, receiveAssetId }) => [debitAssetId, receiveAssetId])
    )
    // The time is taken after the receivers are locked, so that nothing arrives after an expiry, or the end of its terms, by waiting for the lock.
    const nowMs = clock.now()
    const batch = settleBatch(payments, receivers, provider, nowMs)
    await writeEndings(transaction, batch, () => newId(clock, random), nowMs)
    return batch
  })
}

type ClaimRow = ClaimedLocalPaymentRow & (LockedReceiverRow | { readonly receiver_id: null })

// Payments are locked first, skipping locked ones, then incoming payments, then accounts, each kind in the order of ids, so
// that two batches that touch the same rows never deadlock. "array" makes the database lock every payment before the first
// incoming payment. The lock reads their latest committed state.
const CLAIM = new Statement<ClaimRow>(
  'claim-outgoing-payments',
  Prisma.sql`
  with ${claimed}, ${lockedReceivers(Prisma.sql`array(select incoming_payment_id from claimed)`)}
  select *
    from claimed left join receiver on receiver.receiver_id = claimed.incoming_payment_id
   order by claimed.created_at, claimed.id`
)

/** Claimed payments, and their incoming payments, locked, by id; those that do not exist are missing. */
export interface ClaimedBatch {
  readonly payments: readonly ClaimedLocalPayment[]
  readonly receivers: ReadonlyMap<string, LockedReceiver>
}

/**
 * Claims pending payments to receivers hosted here, and locks the receivers until the transaction ends. Payments claimed
 * elsewhere are skipped.
 */
export async function claimPayments(
  transaction: Queries,
  claim: Claim,
  urls: ResourceUrls
): Promise<ClaimedBatch> {
  const rows = await CLAIM.rows(transaction, claiming(claim, urls.of('incoming-payments', '')))
  const receivers = new Map<string, LockedReceiver>()
  for (const row of rows)
    if (row.receiver_id !== null) receivers.set(row.receiver_id, readLockedReceiver(row))
  return { payments: rows.map(readClaimedLocalPayment), receivers }
}

/** Fragment: who has paid whom by the transfers that are written. */
const PAYER_AND_PAYEE = Prisma.sql`
  select payment.wallet_address_id, received.wallet_address_id as payee_wallet_address_id
    from movement
    join payment on payment.id = movement.payment_id
    join received on received.id = movement.incoming_payment_id`

// One statement for the whole batch, whatever its size. Each part names the state that it expects, so that a payment that
// ended otherwise meanwhile is not ended again. Then the number of changed rows is wrong: PostgreSQL cannot read the text that
// says so as an integer, which fails the statement, and nothing of it is kept.
const WRITE = new Statement(
  'settle-outgoing-payments',
  Prisma.sql`
  with ${ended}, ${determined}, ${posted}, ${received}, ${paid(PAYER_AND_PAYEE)},
       ${appended(Prisma.sql`${receivedEvents} union all ${endedEvents}`)}
  select string_agg(format('settling must change %s %s, and would change %s', wanted, name, changed), '; ')::integer as wrong
    from (values ('payments', (select count(*) from ending), (select count(*) from payment)),
                 ('reservations', (select count(*) from ending), (select count(*) from reservation)),
                 ('holds', (select count(*) from ending where held), (select count(*) from hold)),
                 ('transfers', (select count(*) from movement), (select count(*) from moved)),
                 ('totals', (select count(*) from change), (select count(*) from total)),
                 ('receivers', (select count(*) from receipt), (select count(*) from received))) as part (name, wanted, changed)
   where changed <> wanted`
)

/**
 * Writes all changes of a batch, and ends the refunds that its payments make.
 *
 * @throws Error when anything would be changed more or less often than it must
 */
export async function writeEndings(
  transaction: Queries,
  batch: SettledBatch,
  newTransferId: () => string,
  nowMs: number
): Promise<void> {
  if (batch.refundEndings.length > 0) await endRefunds(transaction, batch, nowMs)
  await writeBatch(transaction, batch, newTransferId, nowMs)
}

/**
 * Writes all changes of a batch, with one statement: all of them or none, in a transaction or not.
 *
 * @throws Error when anything would be changed more or less often than it must
 */
export async function writeBatch(
  on: Queries,
  batch: SettledBatch,
  newTransferId: () => string,
  nowMs: number
): Promise<void> {
  const transfers = batch.transfers.map((transfer) => ({ ...transfer, id: newTransferId() }))
  await WRITE.rows(on, {
    ...endings(batch.endings),
    ...movements(transfers, batch.totals),
    ...receipts(batch.received),
    now: instantText(nowMs)
  })
}
