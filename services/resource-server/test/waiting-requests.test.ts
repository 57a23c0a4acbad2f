import { randomUUID } from 'node:crypto'
import { request as sendRaw } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { recordStatements, scrapeMetrics } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { signedHeaders } from './support/event-source.js'
import { BOB, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'
import { createToldReceiver } from './support/told-receiver.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { METRICS_PORT: '0', WAITING_CLIENTS_MAX: '6', WAITING_PER_CLIENT_MAX: '4' }
  })
})
afterAll(() => world.stop())

const pathOf = (url: string): string => url.slice(PUBLIC_URL.length)
const get = (url: string, headers: Record<string, string> = {}) =>
  world.request('GET', pathOf(url), { headers })
const waiting = async (kind = 'request'): Promise<number> =>
  (await scrapeMetrics(world.server.metricsPort)).at(`open_payments_waiting_clients{kind="${kind}"}`) ?? 0
const whenWaiting = async (count: number): Promise<void> => {
  while ((await waiting()) !== count) await delay(5)
}
/** Name of the statement that reads incoming payments. */
const READ = '/* get-incoming-payments */'
/** Milliseconds that something took, and its result. */
const timed = async <Value>(action: Promise<Value>): Promise<[number, Value]> => {
  const startedMs = performance.now()
  const value = await action
  return [performance.now() - startedMs, value]
}

describe('a request that waits', () => {
  it('is answered as soon as the payment changes', async () => {
    const receiver = await createToldReceiver(world)
    const asked = get(receiver, { prefer: 'respond-async, wait=30' })
    await whenWaiting(1)
    const paid = await world.pay(receiver, 70)
    const [ms, answer] = await timed(asked)
    expect(answer).toMatchObject({ status: 200, body: { receivedAmount: usd(70) } })
    expect(answer.headers.get('preference-applied')).toBe('wait=30')
    expect(answer.headers.get('vary')?.split(', ')).toEqual(expect.arrayContaining(['Prefer', 'Accept']))
    expect(ms).toBeLessThan(5_000)
    expect(await get(paid.textAt('id'), { prefer: 'wait=30' })).toMatchObject({
      status: 200,
      body: { sentAmount: usd(70) }
    })
    await whenWaiting(0)
  })

  it('gets 200 at the end of its time, and 304 if it named what it has', async () => {
    const receiver = await createToldReceiver(world)
    const [ms, answer] = await timed(get(receiver, { prefer: 'wait=1' }))
    expect(answer).toMatchObject({ status: 200, body: { receivedAmount: usd(0) } })
    expect(ms).toBeGreaterThan(950)
    const tag = answer.headers.get('etag') ?? ''
    const [sinceMs, same] = await timed(get(receiver, { prefer: 'wait=1', 'if-none-match': tag }))
    expect(same).toMatchObject({ status: 304, text: '' })
    expect(same.headers.get('preference-applied')).toBe('wait=1')
    expect(sinceMs).toBeGreaterThan(950)
    const [anyMs, any] = await timed(get(receiver, { prefer: 'wait=1', 'if-none-match': '*' }))
    expect(any.status).toBe(304)
    expect(anyMs).toBeGreaterThan(950)
  })

  it('with If-None-Match is answered at once when the payment has another tag', async () => {
    const receiver = await createToldReceiver(world)
    const [ms, answer] = await timed(get(receiver, { prefer: 'wait=30', 'if-none-match': '"older"' }))
    expect(answer).toMatchObject({ status: 200, body: { id: receiver } })
    expect(ms).toBeLessThan(5_000)
    const waits = get(receiver, { prefer: 'wait=30', 'if-none-match': answer.headers.get('etag') ?? '' })
    await whenWaiting(1)
    await world.pay(receiver, 5)
    expect(await waits).toMatchObject({ status: 200, body: { receivedAmount: usd(5) } })
  })

  it('is answered at once when the payment has ended, or the time is none', async () => {
    const receiver = await createToldReceiver(world, { incomingAmount: usd(9) })
    expect((await timed(get(receiver, { prefer: 'wait=0' })))[0]).toBeLessThan(5_000)
    const paid = (await world.pay(receiver, 9)).textAt('id')
    const ended = await world.whenEnded(paid)
    for (const [url, tag] of [
      [paid, ended.headers.get('etag')],
      [receiver, (await get(receiver)).headers.get('etag')]
    ] as const) {
      expect(await get(url, { prefer: 'wait=30' })).toMatchObject({ status: 200 })
      expect(await get(url, { prefer: 'wait=30', 'if-none-match': tag ?? '' })).toMatchObject({ status: 304 })
    }
  })

  it('is answered when the payment expires', async () => {
    const expiresAt = new Date(world.clock.now() + 60_000).toISOString()
    const receiver = await createToldReceiver(world, { expiresAt })
    const asked = get(receiver, { prefer: 'wait=30' })
    await whenWaiting(1)
    world.clock.advanceSeconds(61)
    expect(await asked).toMatchObject({ status: 200, body: { methods: [] } })
    expect((await get(receiver, { prefer: 'wait=30' })).status).toBe(200)
  })

  it('misses no change between its reading and its waiting', async () => {
    for (let index = 0; index < 20; index += 1) {
      const receiver = await createToldReceiver(world)
      const completed = delay(index % 10).then(() => world.request('POST', `${pathOf(receiver)}/complete`))
      expect((await get(receiver, { prefer: 'wait=20' })).at('completed')).toBe(true)
      await completed
    }
  })

  it('is not answered by a change that it knows already', async () => {
    const receiver = await createToldReceiver(world)
    await world.pay(receiver, 1)
    while ((await get(receiver)).at('receivedAmount.value') !== '1') await delay(5)
    // The event may be published only now.
    expect((await timed(get(receiver, { prefer: 'wait=1' })))[0]).toBeGreaterThan(950)
  })

  it('waits no longer than a minute, and asks for a whole number', async () => {
    const receiver = await createToldReceiver(world)
    await world.request('POST', `${pathOf(receiver)}/complete`)
    for (const seconds of ['61', '99999', '9'.repeat(500)]) {
      const answer = await get(receiver, { prefer: `wait=${seconds}` })
      expect(answer.headers.get('preference-applied')).toBe('wait=60')
    }
    for (const wrong of ['-1', '1.5', '+1', '', '0x10', '1e3', '٣', 'NaN', '"'].map(
      (value) => `wait=${value}`
    )) {
      const answer = await get(receiver, { prefer: encodeHeader(wrong) })
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { code: '400', details: { Prefer: 'wait must be a whole number of seconds' } } }
      })
      expect(answer.headers.get('preference-applied')).toBeNull()
    }
    const other = await get(receiver, { prefer: 'return=minimal, waiting=x' })
    expect(other.status).toBe(200)
    expect(other.headers.get('preference-applied')).toBeNull()
  })

  it('waits for nothing without a token, for a list, or for HEAD', async () => {
    const receiver = await createToldReceiver(world)
    const [ms, answer] = await timed(world.send('GET', pathOf(receiver), { prefer: 'wait=-1' }))
    expect(answer.status).toBe(200)
    expect(ms).toBeLessThan(5_000)
    expect((await world.request('HEAD', pathOf(receiver), { headers: { prefer: 'wait=30' } })).status).toBe(
      200
    )
    const list = `/incoming-payments?wallet-address=${encodeURIComponent(BOB)}`
    expect((await world.request('GET', list, { headers: { prefer: 'wait=30' } })).status).toBe(200)
    expect((await get(`${PUBLIC_URL}/incoming-payments/${randomUUID()}`, { prefer: 'wait=30' })).status).toBe(
      404
    )
  })
})

describe('the token of a request that waits', () => {
  const issue = (more: object = {}) =>
    world.auth.issueToken({
      client: world.shop.client,
      keys: [world.shop.key],
      access: [{ type: 'incoming-payment', actions: ['read'] }],
      ...more
    })
  const ask = (receiver: string, accessToken: string) =>
    world.request('GET', pathOf(receiver), { accessToken, headers: { prefer: 'wait=30' } })
  const inactive = { status: 403, body: { error: { description: 'Inactive Token' } } }

  it('ends it when it is revoked, or its grant is', async () => {
    const receiver = await createToldReceiver(world)
    const [one, other] = [issue(), issue()]
    const asked = [ask(receiver, one.accessToken), ask(receiver, other.accessToken)]
    await whenWaiting(2)
    await world.auth.revokeToken(one)
    expect(await asked[0]).toMatchObject(inactive)
    await world.auth.revokeGrant(other.grantId)
    expect(await asked[1]).toMatchObject(inactive)
  })

  it('ends it when it expires', async () => {
    const receiver = await createToldReceiver(world)
    const token = issue({ expiresAt: new Date(world.clock.now() + 20_000) })
    const asked = ask(receiver, token.accessToken)
    await whenWaiting(1)
    world.clock.advanceSeconds(21)
    // What changes from then on is not told, however soon it does: what was seen until then is.
    await world.request('POST', `${pathOf(receiver)}/complete`)
    expect(await asked).toMatchObject({ status: 200, body: { completed: false } })
  })

  it('is asked about before it is told what changed while revocations may have been missed', async () => {
    const receiver = await createToldReceiver(world)
    const [revoked, active] = [issue(), issue()]
    const asked = [revoked, active].map(({ accessToken }) => ask(receiver, accessToken))
    await whenWaiting(2)
    world.auth.setStreaming(false)
    await delay(100)
    revoked.status = 'inactive'
    await world.pay(receiver, 3)
    expect(await asked[0]).toMatchObject(inactive)
    expect(await asked[1]).toMatchObject({ status: 200, body: { receivedAmount: usd(3) } })
    world.auth.setStreaming(true)
  })

  it('is asked about when revocations are told again', async () => {
    const receiver = await createToldReceiver(world)
    const token = issue()
    const asked = ask(receiver, token.accessToken)
    await whenWaiting(1)
    world.auth.setStreaming(false)
    await delay(100)
    token.status = 'inactive'
    world.auth.setStreaming(true)
    expect(await asked).toMatchObject(inactive)
  })
})

describe('waiting requests', () => {
  it('are refused beyond the limit of their client, and that of the replica', async () => {
    const receiver = await createToldReceiver(world)
    const tag = (await get(receiver)).headers.get('etag') ?? ''
    const own = Array.from({ length: 4 }, () => get(receiver, { prefer: 'wait=30' }))
    await whenWaiting(4)
    const refused = await get(receiver, { prefer: 'wait=30' })
    expect(refused).toMatchObject({
      status: 429,
      body: { error: { code: '429', description: 'too many requests of this client are waiting' } }
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect((await get(receiver)).status).toBe(200)

    const all = [{ type: 'incoming-payment' as const, actions: ['read-all'] }]
    const other = world.createClient('other')
    const others = [1, 2].map(() =>
      other.request(all, 'GET', pathOf(receiver), { headers: { prefer: 'wait=30' } })
    )
    await whenWaiting(6)
    const third = await world
      .createClient('third')
      .request(all, 'GET', pathOf(receiver), { headers: { prefer: 'wait=30' } })
    expect(third).toMatchObject({
      status: 503,
      body: { error: { code: '503', description: 'too many clients are waiting' } }
    })
    expect(third.headers.get('retry-after')).toBe('5')
    const scraped = await scrapeMetrics(world.server.metricsPort)
    expect(scraped.at('open_payments_waiting_refused_total{limit="client"}')).toBe(1)
    expect(scraped.at('open_payments_waiting_refused_total{limit="replica"}')).toBe(1)

    await world.request('POST', `${pathOf(receiver)}/complete`)
    for (const answer of await Promise.all([...own, ...others])) expect(answer.at('completed')).toBe(true)
    await whenWaiting(0)
    expect((await get(receiver, { prefer: 'wait=5', 'if-none-match': tag })).status).toBe(200)
  })

  it('take no connection to the database, and read nothing while nothing changes', async () => {
    const receivers = [await createToldReceiver(world), await createToldReceiver(world)]
    const asked = receivers.flatMap((url) => [get(url, { prefer: 'wait=3' }), get(url, { prefer: 'wait=3' })])
    await whenWaiting(4)
    while (world.server.pool.idleCount !== world.server.pool.totalCount) await delay(5)
    const record = recordStatements(world.server.pool)
    await delay(1_000)
    record.stop()
    expect(record.statements.filter((text) => text.includes(READ))).toEqual([])
    expect(record.statements.filter((text) => text.includes('event_epoch')).length).toBeLessThan(20)
    expect(world.server.pool.waitingCount).toBe(0)
    await Promise.all(asked)
  })

  it('share what is read for them when their payment changes', async () => {
    const receiver = await createToldReceiver(world)
    const asked = Array.from({ length: 4 }, () => get(receiver, { prefer: 'wait=30' }))
    await whenWaiting(4)
    await delay(50)
    const record = recordStatements(world.server.pool)
    await world.request('POST', `${pathOf(receiver)}/complete`)
    await Promise.all(asked)
    record.stop()
    expect(record.statements.filter((text) => text.includes(READ))).toHaveLength(1)
  })

  it('leave nothing behind when their clients do', async () => {
    const receiver = await createToldReceiver(world)
    const reader = { key: world.shop.key, accessToken: world.token, now: () => world.clock.now() }
    const url = `http://127.0.0.1:${String(world.server.httpPort)}${pathOf(receiver)}`
    const sent = sendRaw(url, { headers: signedHeaders(reader, receiver, { prefer: 'wait=30' }) })
    sent.on('error', () => undefined) // it is cut off
    sent.end()
    await whenWaiting(1)
    sent.destroy()
    await whenWaiting(0)
  })

  it('do not count as slow', async () => {
    const receiver = await createToldReceiver(world)
    await get(receiver, { prefer: 'wait=1' })
    const name = 'open_payments_http_request_duration_seconds'
    const labels = 'listener="public",method="GET",route="/incoming-payments/:id",status="200"'
    const scraped = await scrapeMetrics(world.server.metricsPort)
    expect(scraped.at(`${name}_sum{${labels}}`)).toBeLessThan(
      0.5 * (scraped.at(`${name}_count{${labels}}`) ?? 0)
    )
  })
})

/** Headers are sent as Latin-1. */
function encodeHeader(text: string): string {
  return Buffer.from(text).toString('latin1')
}
