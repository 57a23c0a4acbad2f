import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { scrapeMetrics } from '@open-payments-server/testing'
import { startTestAuthServer, type TestAuthServer } from './auth-server.js'

const COUNT = 'open_payments_reservations_open'
const AGE = 'open_payments_reservations_open_oldest_age_seconds'
const UP = 'open_payments_metrics_source_up{source="reservations"}'

let auth: TestAuthServer

beforeAll(async () => {
  auth = await startTestAuthServer({ METRICS_PORT: '0' })
})
afterAll(() => auth.stop())

const scrape = () => scrapeMetrics(auth.server.metricsPort)

/** Writes open reservations that were made so many seconds ago; answers the id of one. */
async function reserve(ageSeconds: number, count = 1): Promise<string> {
  const [row] = await auth.database.query<{ id: string }>(
    `insert into reservation (payment_id, state, grant_id, access_item_id, interval_index, debit, debit_code, debit_scale,
                              receive, receive_code, receive_scale, receive_counted, created_at)
     select gen_random_uuid(), 'open', $1, $1, 0, 1, 'USD', 2, 1, 'USD', 2, true, now() - make_interval(secs => $2)
       from generate_series(1, $3::integer) returning payment_id as id`,
    [randomUUID(), ageSeconds, count]
  )
  return row!.id
}

describe('the metrics of the auth server', () => {
  it('tell how many reservations are open, and how old the oldest is', async () => {
    const none = await scrape()
    expect([none.at(COUNT), none.at(AGE), none.at(UP)]).toEqual([0, 0, 1])
    await reserve(5)
    const oldest = await reserve(3_600)
    const two = await scrape()
    expect(two.at(COUNT)).toBe(2)
    expect(two.at(AGE)).toBeGreaterThanOrEqual(3_600)
    expect(two.at(AGE)).toBeLessThan(3_660)
    await auth.database.query(`update reservation set state = 'released' where payment_id = $1`, [oldest])
    const one = await scrape()
    expect(one.at(COUNT)).toBe(1)
    expect(one.at(AGE)).toBeLessThan(60)
  })

  it('stop counting where it matters no more', async () => {
    await reserve(1, 10_001)
    expect((await scrape()).at(COUNT)).toBe(10_000)
  })

  it('are served nowhere without a port', async () => {
    const silent = await startTestAuthServer()
    expect(silent.server.metricsPort).toBeUndefined()
    await silent.stop()
  })

  it('are all documented', async () => {
    const documented = await readFile(new URL('../../../docs/metrics.md', import.meta.url), 'utf8')
    const published = [...(await scrape()).text.matchAll(/^# TYPE (open_payments_\w+) (\w+)$/gm)]
    expect(published.length).toBeGreaterThan(2)
    for (const [, name = '', type = ''] of published) {
      expect(documented).toMatch(new RegExp(`\\| \`${name}\` +\\| ${type} `))
    }
  })

  it('answer what is known while the database is gone', async () => {
    await auth.database.drop()
    const { text, at } = await scrape()
    expect([at(COUNT), at(AGE), at(UP)]).toEqual([undefined, undefined, 0])
    expect(text).toContain('process_cpu_seconds_total')
  })
})
