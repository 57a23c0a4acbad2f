import { request as sendRaw } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { scrapeMetrics } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { EVENT_TYPES } from '../src/domain/event-types.js'
import { openEventSource, type Reader, signedHeaders, type TestEventSource } from './support/event-source.js'
import { PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'
import { createToldReceiver, whenPublished as published } from './support/told-receiver.js'

const TYPES = Object.keys(EVENT_TYPES)

let world: PaymentWorld
const opened: { close(): void | Promise<void> }[] = []

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: {
      METRICS_PORT: '0',
      WAITING_HEARTBEAT_SECONDS: '1',
      WAITING_CLIENTS_MAX: '6',
      WAITING_PER_CLIENT_MAX: '3'
    }
  })
})
afterEach(async () => {
  for (const source of opened.splice(0)) await source.close()
  // Streams count until the server has noticed that they are closed.
  await whenWaiting(0)
})
afterAll(() => world.stop())

const pathOf = (url: string): string => url.slice(PUBLIC_URL.length)
const connect = (url: string): string => `http://127.0.0.1:${String(world.server.httpPort)}${pathOf(url)}`
const reader = (accessToken = world.token): Reader => ({
  key: world.shop.key,
  accessToken,
  now: () => world.clock.now(),
  connect
})
const open = (url: string, accessToken?: string): TestEventSource => {
  const source = openEventSource(url, TYPES, reader(accessToken))
  opened.push(source)
  return source
}
const complete = (receiver: string) => world.request('POST', `${pathOf(receiver)}/complete`)
const waiting = async (): Promise<number> =>
  (await scrapeMetrics(world.server.metricsPort)).at('open_payments_waiting_clients{kind="stream"}') ?? 0
const whenWaiting = async (count: number): Promise<void> => {
  while ((await waiting()) !== count) await delay(5)
}
const whenPublished = (): Promise<void> => published(world)
const createReceiver = (more?: object): Promise<string> => createToldReceiver(world, more)

/** A stream as bytes. */
interface RawStream {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: () => string
  readonly whenEnded: Promise<unknown>
  readonly close: () => void
}

/** Opens a stream, and reads it as bytes. */
function openRaw(
  url: string,
  headers: Record<string, string> = {},
  from: Reader = reader()
): Promise<RawStream> {
  return new Promise((resolve, reject) => {
    const all = signedHeaders(from, url, { accept: 'text/event-stream', ...headers })
    const sent = sendRaw(connect(url), { headers: all, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        text: () => text,
        whenEnded: new Promise((ended) => answer.once('close', ended)),
        close: () => sent.destroy()
      })
    })
    opened.push({
      close: () => {
        sent.destroy()
      }
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('a stream of a payment', () => {
  it('tells how it is, and then what happens, as the API shows it', async () => {
    const receiver = await createReceiver({ incomingAmount: usd(300) })
    await whenPublished()
    const source = open(receiver)
    const [first] = await source.whenTold(1)
    expect(first).toMatchObject({ type: 'incoming_payment.created', data: { receivedAmount: usd(0) } })
    expect(first?.data).toEqual((await world.request('GET', pathOf(receiver))).body)
    expect(first?.data.methods).toHaveLength(1)
    await world.pay(receiver, 100)
    await source.whenTold(2)
    await world.pay(receiver, 200)
    const told = await source.whenTold(4)
    expect(told.slice(1)).toMatchObject([
      { type: 'incoming_payment.received', data: { receivedAmount: usd(100), completed: false } },
      { type: 'incoming_payment.received', data: { receivedAmount: usd(300), completed: true, methods: [] } },
      { type: 'incoming_payment.completed', data: { receivedAmount: usd(300), completed: true } }
    ])
    expect(told[3]?.data).toEqual((await world.request('GET', pathOf(receiver))).body)
    const ids = told.map(({ id }) => Number(id))
    expect(ids).toEqual(ids.toSorted((one, other) => one - other))
    // It ends, and the client that comes back is told that there is nothing more.
    await source.whenClosed()
    expect(source.requests).toEqual([undefined, told[3]?.id])
    expect(source.messages).toHaveLength(4)
  })

  it('tells of an outgoing payment until it has ended', async () => {
    const receiver = await createReceiver()
    let release = (): void => undefined
    const held = world.database.inTransaction(async (query) => {
      await query('select 1 from incoming_payment where id = $1 for update', [receiver.slice(-36)])
      await new Promise<void>((resolve) => {
        release = resolve
      })
    })
    const paid = (await world.pay(receiver, 40)).textAt('id')
    await whenPublished()
    const source = open(paid)
    await source.whenTold(1)
    release()
    await held
    const told = await source.whenTold(2)
    expect(told).toMatchObject([
      { type: 'outgoing_payment.created', data: { id: paid, sentAmount: usd(0) } },
      { type: 'outgoing_payment.completed', data: { id: paid, sentAmount: usd(40) } }
    ])
    expect(told[1]?.data).toEqual((await world.request('GET', pathOf(paid))).body)
    await source.whenClosed()
  })

  it('has the headers that keep it from being collected or stored', async () => {
    const receiver = await createReceiver()
    const stream = await openRaw(receiver)
    expect(stream.status).toBe(200)
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      vary: expect.stringContaining('Accept')
    })
    expect(stream.headers['content-length']).toBeUndefined()
    expect(stream.headers.etag).toBeUndefined()
    stream.close()
  })

  it('goes on after the last event that its client knows', async () => {
    const receiver = await createReceiver()
    await whenPublished()
    const first = open(receiver)
    const id = (await first.whenTold(1))[0]?.id ?? ''
    await first.close()
    const received = async () => (await world.request('GET', pathOf(receiver))).at('receivedAmount.value')
    // Payments that are processed together are received with one event.
    await world.pay(receiver, 1)
    while ((await received()) !== '1') await delay(5)
    await world.pay(receiver, 2)
    while ((await received()) !== '3') await delay(5)
    await whenPublished()
    const stream = await openRaw(receiver, { 'last-event-id': id })
    while (stream.text().split('event: ').length < 3) await delay(5)
    expect(
      [...stream.text().matchAll(/"receivedAmount":\{"value":"(\d+)"/g)].map(([, value]) => value)
    ).toEqual(['1', '3'])
    expect(stream.text()).not.toContain('incoming_payment.created')
    stream.close()
  })

  it('tells a client that came before anything was published how the payment ended, once that is published', async () => {
    const { receiver, ended, again } = await world.database.inTransaction(async (query) => {
      await query('select pg_advisory_xact_lock(7306587041)')
      const url = await world.createReceiver()
      const early = await openRaw(url)
      while (!early.text().includes('event: incoming_payment.created\nid: 0\n')) await delay(5)
      early.close()
      await complete(url)
      const known = await openRaw(url, { 'last-event-id': '0' })
      const unknown = await openRaw(url)
      await unknown.whenEnded
      return { receiver: url, again: known, ended: unknown }
    })
    expect(ended.text()).toContain('event: incoming_payment.completed\nid: 0\n')
    expect(again.status).toBe(200)
    while (!again.text().includes('event: incoming_payment.completed')) await delay(5)
    await again.whenEnded
    expect(again.text()).toContain(receiver)
  })

  it('begins with the present for a client that knows an event which is not among those that are kept', async () => {
    const receiver = await createReceiver()
    await whenPublished()
    for (const id of ['999999999999999999', '1', '0']) {
      const stream = await openRaw(receiver, { 'last-event-id': id })
      while (!stream.text().includes('event: incoming_payment.created')) await delay(5)
      stream.close()
    }
    // Nothing of it is known any more.
    await world.database.query('delete from event where subject_id = $1', [receiver.slice(-36)])
    const source = open(receiver)
    expect(await source.whenTold(1)).toMatchObject([{ type: 'incoming_payment.created', id: '0' }])
    await source.close()
    const again = await openRaw(receiver, { 'last-event-id': '0' })
    expect(again.status).toBe(200)
    await complete(receiver)
    while (!again.text().includes('event: incoming_payment.completed')) await delay(5)
    await again.whenEnded
    await world.database.query('delete from event where subject_id = $1', [receiver.slice(-36)])
    const ended = await openRaw(receiver)
    await ended.whenEnded
    expect(ended.text()).toMatch(/^event: incoming_payment.completed\nid: 0\ndata: \{.*\}\n\nretry: \d+\n\n$/)
    expect((await openRaw(receiver, { 'last-event-id': '0' })).status).toBe(204)
  })

  it('refuses a Last-Event-ID that is none', async () => {
    const receiver = await createReceiver()
    for (const id of ['x', '-1', '1.5', '01', ' ', '1, 2', '1'.repeat(19), '']) {
      const answer = await world.request('GET', pathOf(receiver), {
        headers: { accept: 'text/event-stream', 'last-event-id': id }
      })
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { details: { 'Last-Event-ID': 'must be the id of an event of this resource' } } }
      })
    }
  })

  it('is only for clients that prefer it, with a token for what they read', async () => {
    const receiver = await createReceiver()
    for (const accept of [
      '*/*',
      'application/json, text/event-stream',
      'text/event-stream;q=0.5, */*',
      'text/*'
    ]) {
      const answer = await world.request('GET', pathOf(receiver), { headers: { accept } })
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    }
    const publicForm = await world.send('GET', pathOf(receiver), { accept: 'text/event-stream' })
    expect(publicForm.body).toEqual({ receivedAmount: usd(0), authServer: 'http://auth.test/' })
    const other = world.createClient('stranger')
    const access = [{ type: 'incoming-payment' as const, actions: ['read'] }]
    const headers = { accept: 'text/event-stream' }
    expect((await other.request(access, 'GET', pathOf(receiver), { headers })).status).toBe(404)
    expect((await other.request([], 'GET', pathOf(receiver), { headers })).status).toBe(403)
    for (const accept of ['text/event-stream, application/json;q=0.9', 'TEXT/event-stream']) {
      const stream = await openRaw(receiver, { accept })
      expect(stream.headers['content-type']).toBe('text/event-stream')
      stream.close()
    }
    await whenWaiting(0)
  })

  it('misses nothing that happens while it opens', async () => {
    for (let index = 0; index < 15; index += 1) {
      const receiver = await createReceiver()
      const source = open(receiver)
      await delay(index)
      await complete(receiver)
      while (source.messages.at(-1)?.type !== 'incoming_payment.completed') await delay(5)
      const ids = source.messages.map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
      await source.close()
    }
  })

  it('is never silent for long', async () => {
    const receiver = await createReceiver()
    await whenPublished()
    const stream = await openRaw(receiver)
    while (!stream.text().endsWith('\n\n:\n\n:\n\n')) await delay(5)
    stream.close()
  })

  it('ends when the payment has expired', async () => {
    const expiresAt = new Date(world.clock.now() + 60_000).toISOString()
    const receiver = await createReceiver({ expiresAt })
    const source = open(receiver)
    await source.whenTold(1)
    world.clock.advanceSeconds(70)
    await source.whenClosed()
    expect(source.messages).toHaveLength(1)
  })

  it('is refused beyond the limit of its client', async () => {
    const receiver = await createReceiver()
    const streams = [await openRaw(receiver), await openRaw(receiver), await openRaw(receiver)]
    expect(await waiting()).toBe(3)
    const answer = await world.request('GET', pathOf(receiver), { headers: { accept: 'text/event-stream' } })
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('5')
    for (const stream of streams) stream.close()
    await whenWaiting(0)
  })
})

describe('a stream ends with its token:', () => {
  const issue = (more: object = {}) =>
    world.auth.issueToken({
      client: world.shop.client,
      keys: [world.shop.key],
      access: [{ type: 'incoming-payment', actions: ['read'] }],
      ...more
    })

  it('when that is revoked or rotated', async () => {
    const receiver = await createReceiver()
    const token = issue()
    const source = open(receiver, token.accessToken)
    await source.whenTold(1)
    await world.auth.revokeToken(token)
    await whenWaiting(0)
    await complete(receiver)
    await source.whenClosed()
    expect(source.messages).toHaveLength(1)
  })

  it('when its grant ends', async () => {
    const receiver = await createReceiver()
    const token = issue()
    const source = open(receiver, token.accessToken)
    await source.whenTold(1)
    await world.auth.revokeGrant(token.grantId)
    await source.whenClosed()
  })

  it('when that expires', async () => {
    const receiver = await createReceiver()
    const token = issue({ expiresAt: new Date(world.clock.now() + 20_000) })
    const source = open(receiver, token.accessToken)
    await source.whenTold(1)
    token.status = 'inactive'
    world.clock.advanceSeconds(21)
    // Nothing more is told, however soon it happens.
    await complete(receiver)
    await source.whenClosed()
    expect(source.messages).toHaveLength(1)
    expect(await waiting()).toBe(0)
  })

  it('also when its revocation was missed, and before anything more is told', async () => {
    const receiver = await createReceiver()
    const [revoked, active] = [issue(), issue()]
    const [one, other] = [open(receiver, revoked.accessToken), open(receiver, active.accessToken)]
    await Promise.all([one.whenTold(1), other.whenTold(1)])
    world.auth.setStreaming(false)
    await delay(100)
    revoked.status = 'inactive'
    await world.pay(receiver, 6)
    await other.whenTold(2)
    await one.whenClosed()
    expect(one.messages).toHaveLength(1)
    world.auth.setStreaming(true)
  })

  it('also when it ends while the stream opens', async () => {
    const receiver = await createReceiver()
    const token = issue()
    world.auth.beforeAnswer = async () => {
      world.auth.beforeAnswer = undefined
      await world.auth.revokeToken(token)
    }
    const answer = await openRaw(receiver, {}, reader(token.accessToken))
    if (answer.status === 200) await answer.whenEnded
    else expect(answer.status).toBe(403)
    await whenWaiting(0)
  })
})
