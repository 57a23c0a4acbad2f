import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createTestKey, compareWithDocument, type Scrape, scrapeMetrics } from '@open-payments-server/testing'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from './auth-server.js'
import { approve, continueGrant, decide, issueGrant, requestPendingGrant } from './grants.js'

const COUNT = 'open_payments_reservations_open'
const AGE = 'open_payments_reservations_open_oldest_age_seconds'
const CERTIFICATE_EXPIRY = 'open_payments_tls_certificate_expiry_timestamp_seconds'
const UP = 'open_payments_metrics_source_up{source="reservations"}'

let auth: TestAuthServer

beforeAll(async () => {
  auth = await startTestAuthServer({ METRICS_PORT: '0' })
})
afterAll(() => auth.stop())

const scrape = () => scrapeMetrics(auth.server.metricsPort)

/** The growth of each series of a counter that grew, by its labels. */
function growthOf(name: string, before: Scrape, after: Scrape): Record<string, number> {
  const grown = [...after.text.matchAll(new RegExp(`^${name}\\{(.*)\\} `, 'gm'))].map(([, labels = '']) => {
    const series = `${name}{${labels}}`
    return [labels, (after.at(series) ?? NaN) - (before.at(series) ?? 0)] as const
  })
  return Object.fromEntries(grown.filter(([, growth]) => growth !== 0))
}

/** Writes open reservations of this age, in seconds. Returns the id of one. */
async function reserve(ageSeconds: number, count = 1): Promise<string> {
  const [row] = await auth.database.query<{ id: string }>(
    `insert into reservation (payment_id, state, grant_id, access_item_id, interval_index, debit_value, debit_code, debit_scale,
                              receive_value, receive_code, receive_scale, receive_counted, created_at, wallet_address, receiver, charged_at)
     select gen_random_uuid(), 'open', $1, $1, 0, 1, 'USD', 2, 1, 'USD', 2, true, now() - make_interval(secs => $2), '', '', now()
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

  it('count grants and their tokens by what happened to them', async () => {
    const shop = auth.createClient('counted')
    const before = await scrape()
    const issued = await issueGrant(shop)
    const rotated = await shop.request('POST', issued.textAt('access_token.manage'), {
      accessToken: issued.textAt('access_token.value')
    })
    await shop.request('DELETE', rotated.textAt('access_token.manage'), {
      accessToken: rotated.textAt('access_token.value')
    })
    await shop.request('DELETE', issued.textAt('continue.uri'), {
      accessToken: issued.textAt('continue.access_token.value')
    })
    const after = await scrape()
    expect(growthOf('open_payments_grants_total', before, after)).toEqual({
      'event="requested"': 1,
      'event="granted"': 1,
      'event="revoked"': 1
    })
    expect(growthOf('open_payments_tokens_total', before, after)).toEqual({
      'event="rotated"': 1,
      'event="revoked"': 1
    })
    expect(growthOf('open_payments_client_key_lookups_total', before, after)['source="miss"']).toBe(1)
    expect(growthOf('open_payments_client_document_fetches_total', before, after)).toEqual({
      'result="fetched"': 1
    })
  })

  it('count interactions, and the grants that come of them', async () => {
    const shop = auth.createClient('interactive')
    const before = await scrape()
    const accepted = await requestPendingGrant(auth, shop)
    const reference = await approve(auth, accepted)
    auth.clock.advanceSeconds(5)
    expect((await continueGrant(shop, accepted, reference)).status).toBe(200)
    await decide(auth, await requestPendingGrant(auth, shop), 'reject')
    const after = await scrape()
    expect(growthOf('open_payments_grants_total', before, after)).toEqual({
      'event="requested"': 2,
      'event="pending"': 2,
      'event="granted"': 1,
      'event="rejected"': 1
    })
    expect(growthOf('open_payments_interactions_total', before, after)).toEqual({
      'event="started"': 1,
      'event="accepted"': 1,
      'event="rejected"': 1,
      'event="finished"': 1
    })
  })

  it('count whom nobody was authenticated for, by a reason that callers are not told', async () => {
    const shop = auth.createClient('refused')
    const stranger = auth.createClient('stranger')
    const issued = await issueGrant(shop)
    const [manage, token] = [issued.textAt('access_token.manage'), issued.textAt('access_token.value')]
    const before = await scrape()
    const refused = [
      await auth.send('DELETE', manage),
      await stranger.request('DELETE', manage, { accessToken: token }),
      await shop.request('DELETE', manage, { accessToken: 'another' }),
      await shop.request('DELETE', manage, {
        accessToken: token,
        signature: { createdSeconds: Math.floor(auth.clock.now() / 1_000) - 3_600 }
      })
    ]
    const gone = await auth.signWith(createTestKey('gone')).request('POST', PUBLIC_URL, {
      body: {
        client: `${shop.walletAddress}-gone`,
        access_token: { access: [{ type: 'quote', actions: ['read'] }] }
      }
    })
    expect([...refused, gone].map(({ status }) => status)).toEqual([401, 401, 401, 401, 400])
    expect(refused[1]?.text).toBe(refused[2]?.text)
    const after = await scrape()
    expect(growthOf('open_payments_authentication_failures_total', before, after)).toEqual({
      'reason="missing"': 1,
      'reason="holder"': 2,
      'reason="stale"': 1,
      'reason="client"': 1
    })
  })

  it('are served nowhere without a port', async () => {
    const silent = await startTestAuthServer()
    expect(silent.server.metricsPort).toBeUndefined()
    await silent.stop()
  })

  it('are those that the documentation names, with their labels, and no others', async () => {
    // Published only if gRPC has certificates.
    // Nor is what DATABASE_DURABILITY=synchronous promises, which is not set here.
    const expected = [CERTIFICATE_EXPIRY, 'open_payments_database_synchronous'].map(
      (name) => `${name} is not published`
    )
    expect(await compareWithDocument((await scrape()).text, 'auth-server')).toEqual(expected)
  })

  it('answer what is known while the database is gone', async () => {
    await auth.database.drop()
    const { text, at } = await scrape()
    expect([at(COUNT), at(AGE), at(UP)]).toEqual([undefined, undefined, 0])
    expect(text).toContain('process_cpu_seconds_total')
  })
})
