import { randomUUID } from 'node:crypto'
import { sql } from '@open-payments-server/database'
import { createPurgeOfEvents, publishEvents, readEvents } from '@open-payments-server/events'
import { createPurgeRepository } from '@open-payments-server/service-kit/purge'
import { scrapeMetrics } from '@open-payments-server/testing'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { openDatabase } from './support/open-database.js'
import { startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

const DAY_SECONDS = 86_400

let service: TestResourceServer

beforeEach(async () => {
  service = await startTestResourceServer({ settings: { PURGE_INTERVAL_SECONDS: '0' } })
})
afterEach(() => service.stop())

/** Publishes events that happened so many days ago, in this order. */
async function publish(daysAgo: readonly number[], { database, server } = service): Promise<void> {
  for (const days of daysAgo)
    await database.query(
      `insert into event_outbox (type, subject_id, occurred_at)
       values ('incoming_payment.created', $1, now() - make_interval(days => $2))`,
      [randomUUID(), days]
    )
  // One process publishes at a time: the service may be at it.
  while ((await publishEvents(openDatabase(server.pool))).busy);
  for (let left = 1; left > 0;) {
    const [row] = await database.query<{ left: number }>('select count(*)::integer as left from event_outbox')
    left = row?.left ?? 0
  }
}

/** Purges one batch of what is older than 30 days. */
function purge(
  options: { readonly countMax?: number; readonly nowMs?: number } = {},
  statement = createPurgeOfEvents()
) {
  const repository = createPurgeRepository(openDatabase(service.server.pool), { event: statement })
  const range = { nowMs: Date.now(), retentionSeconds: 30 * DAY_SECONDS, countMax: 10, ...options }
  return repository.purge('event', range)
}

/** What a reader who stands at a number is told. */
async function readAfter(afterNumber: bigint | undefined) {
  const query = { afterNumber, types: [], countMax: 100 }
  const { events, resync } = await readEvents(openDatabase(service.server.pool), query)
  return { numbers: events.map(({ number }) => Number(number)), resync }
}

it('old events are deleted in their order, up to the first that is younger: a reader who missed some is told', async () => {
  await publish([50, 40, 10, 45, 1])
  expect(await purge({ countMax: 1 })).toEqual({ lookedAt: 1, purged: 1 })
  expect(await readAfter(0n)).toEqual({ numbers: [2, 3, 4, 5], resync: 'events_expired' })
  expect(await purge()).toEqual({ lookedAt: 1, purged: 1 })
  expect(await readAfter(2n)).toEqual({ numbers: [3, 4, 5], resync: undefined })
  expect(await readAfter(1n)).toEqual({ numbers: [3, 4, 5], resync: 'events_expired' })
  expect(await readAfter(undefined)).toEqual({ numbers: [3, 4, 5], resync: undefined })
  // A full batch of events that are young must not look like more work.
  expect(await purge({ countMax: 2 })).toEqual({ lookedAt: 0, purged: 0 })
})

it('events that were not delivered yet are kept, however old they are', async () => {
  await publish([50, 49, 48])
  const keeping = createPurgeOfEvents(sql`select 1::bigint`)
  expect(await purge({}, keeping)).toEqual({ lookedAt: 1, purged: 1 })
  expect(await purge({}, keeping)).toEqual({ lookedAt: 0, purged: 0 })
  expect((await readAfter(1n)).numbers).toEqual([2, 3])
})

it('a clock that runs ahead deletes nothing', async () => {
  await publish([29])
  expect(await purge({ nowMs: Date.now() + 40 * DAY_SECONDS * 1_000 })).toEqual({ lookedAt: 0, purged: 0 })
})

it('several processes purge at once, and nothing is counted twice', async () => {
  await publish(Array(20).fill(40) as number[])
  const batches = await Promise.all([purge(), purge(), purge()])
  const rest = await purge()
  expect([...batches, rest].reduce((total, { purged }) => total + purged, 0)).toBe(20)
})

it('the service deletes events after their own retention, and counts them', async () => {
  const purging = await startTestResourceServer({
    settings: { PURGE_INTERVAL_SECONDS: '1', EVENT_RETENTION_DAYS: '5', METRICS_PORT: '0' }
  })
  try {
    await publish([9, 6, 4], purging)
    const count = async (): Promise<number> =>
      Number((await scrapeMetrics(purging.server.metricsPort)).at('open_payments_purged_total{kind="event"}'))
    while ((await count()) < 2);
    expect(await count()).toBe(2)
  } finally {
    await purging.stop()
  }
})
