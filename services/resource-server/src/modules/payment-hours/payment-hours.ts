import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** What happened to outgoing payments within an hour. */
export interface PaymentHour {
  /** When it began, in milliseconds since the Unix epoch. */
  readonly startedAtMs: number
  readonly createdCount: number
  readonly completedCount: number
  readonly failedCount: number
}

/** Adds counts to hours. In the order of hours, so that processes that add at the same time do not lock each other out. */
const ADD = new Statement(
  'count-payment-hours',
  Prisma.sql`
  insert into payment_hour (started_at, created_count, completed_count, failed_count)
  select * from unnest(${placeholder('startedAt')}::timestamptz[], ${placeholder('created')}::bigint[],
                       ${placeholder('completed')}::bigint[], ${placeholder('failed')}::bigint[]) as counted (started_at, a, b, c)
   order by started_at
  on conflict (started_at) do update
     set created_count = payment_hour.created_count + excluded.created_count,
         completed_count = payment_hour.completed_count + excluded.completed_count,
         failed_count = payment_hour.failed_count + excluded.failed_count`
)

/** Adds what was counted to its hours. */
export async function countPaymentHours(on: Queries, hours: readonly PaymentHour[]): Promise<void> {
  if (hours.length === 0) return
  await ADD.rows(on, {
    startedAt: hours.map(({ startedAtMs }) => instantText(startedAtMs)),
    created: hours.map(({ createdCount }) => createdCount),
    completed: hours.map(({ completedCount }) => completedCount),
    failed: hours.map(({ failedCount }) => failedCount)
  })
}

/** Reads the hours from an instant on, the oldest first. Hours in which nothing happened are missing. */
export async function listPaymentHours(
  on: Queries,
  { fromMs, limit }: { readonly fromMs: number; readonly limit: number }
): Promise<readonly PaymentHour[]> {
  const rows = await on.paymentHour.findMany({
    where: { startedAt: { gte: new Date(fromMs) } },
    orderBy: { startedAt: 'asc' },
    take: limit
  })
  return rows.map(({ startedAt, createdCount, completedCount, failedCount }) => ({
    startedAtMs: startedAt.getTime(),
    createdCount: Number(createdCount),
    completedCount: Number(completedCount),
    failedCount: Number(failedCount)
  }))
}
