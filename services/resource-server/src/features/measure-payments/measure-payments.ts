import { Statement } from '@open-payments-server/database'
import { approvalsWaiting } from '../../modules/approvals/index.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { undelivered } from '../../modules/grant-outcomes/index.js'
import { unknownPacketCount } from '../../modules/interledger/index.js'
import { oldestElsewhere, pending } from '../../modules/outgoing-payments/index.js'

/** Maximum number of undelivered outcomes, and of waiting payments, that are counted: beyond that the exact number does not matter. */
export const UNDELIVERED_COUNTED_MAX = 10_000

/** Maximum number of packets that are counted. */
export const UNKNOWN_COUNTED_MAX = 10_000

/** Maximum number of payments on hold that are counted. */
export const HELD_COUNTED_MAX = 10_000

/** What is waiting, and for how long. An age is 0 if nothing is waiting. */
export interface PaymentMeasures {
  /** Age of the oldest outcome that the auth server has not acknowledged, in seconds. */
  readonly outcomesOldestAgeSeconds: number
  /** Number of outcomes that it has not acknowledged, up to {@link UNDELIVERED_COUNTED_MAX}. */
  readonly undeliveredCount: number
  /** How long that payment to a receiver hosted here is pending which has been so for longest and that no freeze holds, in seconds. */
  readonly pendingOldestAgeSeconds: number
  /** How long that payment to another provider is pending which has been so for longest and waits for no decision, in seconds. */
  readonly sendingOldestAgeSeconds: number
  /** Number of packets to peers of which nothing is known, up to {@link UNKNOWN_COUNTED_MAX}. */
  readonly unknownPacketCount: number
  /** Number of pending payments that a freeze holds, up to {@link HELD_COUNTED_MAX}. */
  readonly frozenCount: number
  /** Number of payments that await approval, up to {@link UNDELIVERED_COUNTED_MAX}. */
  readonly approvalsWaitingCount: number
  /** How long that which is declined next has awaited approval, in seconds. */
  readonly approvalsOldestAgeSeconds: number
  /** How much of its time it has used, from 0 to 1. */
  readonly approvalsTimeUsedRatio: number
}

/** Reads the ends of partial indexes, and a count with a limit: the cost does not grow with the tables. */
const MEASURE = new Statement<PaymentMeasures>(
  'measure-payments',
  Prisma.sql`
  select greatest(0, extract(epoch from now() - ${undelivered.oldest}))::float8 as "outcomesOldestAgeSeconds",
         ${undelivered.count(UNDELIVERED_COUNTED_MAX)} as "undeliveredCount",
         greatest(0, extract(epoch from now() - ${pending.oldest}))::float8 as "pendingOldestAgeSeconds",
         greatest(0, extract(epoch from now() - ${oldestElsewhere}))::float8 as "sendingOldestAgeSeconds",
         ${unknownPacketCount(UNKNOWN_COUNTED_MAX)} as "unknownPacketCount",
         ${pending.heldCount(HELD_COUNTED_MAX)} as "frozenCount",
         ${approvalsWaiting.count(UNDELIVERED_COUNTED_MAX)} as "approvalsWaitingCount",
         greatest(0, ${approvalsWaiting.longestWait})::float8 as "approvalsOldestAgeSeconds",
         greatest(0, ${approvalsWaiting.mostUsed})::float8 as "approvalsTimeUsedRatio"`
)

/**
 * Measures what is waiting, with one statement.
 *
 * @param holdsFrozen whether a freeze holds the pending payments that it is about
 */
export async function measurePayments(on: Queries, holdsFrozen: boolean): Promise<PaymentMeasures> {
  const [measures] = await MEASURE.rows(on, { holdsFrozen })
  if (measures === undefined) throw new Error('a statement without tables answered no row')
  return measures
}
