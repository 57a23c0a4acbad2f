import { randomBytes } from 'node:crypto'
import { callUnary, createClient, RpcError, status } from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { BOB, CAROL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'
import { ALICE } from './support/resource-server.js'
import { whenPublished } from './support/told-receiver.js'
import { startWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.js'

let world: PaymentWorld
let client: events.WebhookServiceClient
let receiver: WebhookReceiver

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { WEBHOOK_SECRET_KEY: 'kT4v9pQz7mWx2cRb', WEBHOOK_PRIVATE_NETWORKS: '10.1.0.0/16' }
  })
  client = createClient(events.WebhookServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 30_000,
    retriesMax: 3,
    messageBytesMax: 4_194_304
  })
})
afterAll(async () => {
  client.close()
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})
beforeEach(async () => {
  // What is signed long before or after its time is not verified.
  world.clock.set(Date.now())
  // What happened before is not for an endpoint that is registered meanwhile.
  await whenPublished(world)
  receiver = await startWebhookReceiver()
})
afterEach(async () => {
  const { endpoints } = await callUnary(
    client,
    'listWebhookEndpoints',
    { pageSize: 1_000, pageToken: '' },
    ONCE
  )
  for (const { id } of endpoints) await callUnary(client, 'deleteWebhookEndpoint', { id }, ONCE)
  await receiver.stop()
})

const ONCE = { idempotent: false }
const DAY_MS = 86_400_000

const register = async (request: Partial<events.CreateWebhookEndpointRequest> = {}) => {
  const whole = { url: receiver.url, types: [], walletAddress: '', secret: '', ...request }
  const { endpoint, secret } = await callUnary(client, 'createWebhookEndpoint', whole, ONCE)
  return { id: endpoint!.id, secret }
}
const show = async (id: string) =>
  (await callUnary(client, 'getWebhookEndpoint', { id }, { idempotent: true })).endpoint!
const counts = () => callUnary(client, 'countWebhookEndpoints', {}, { idempotent: true })
const attempts = async (id: string) =>
  (
    await callUnary(
      client,
      'listWebhookAttempts',
      { id, pageSize: 1_000, pageToken: '' },
      { idempotent: true }
    )
  ).attempts
const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => (error instanceof RpcError ? `${status[error.code]} ${error.message}` : String(error))
  )
/** Lets time pass until something is so. */
async function advanceUntil(isSo: () => boolean | Promise<boolean>, stepMs: number): Promise<void> {
  while (!(await isSo())) {
    world.clock.advanceSeconds(stepMs / 1_000)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
/** Asks until something is so. */
async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

describe('an endpoint', () => {
  it('gets what happens after it was registered, signed, in order for each subject', async () => {
    await world.createReceiver()
    await whenPublished(world)
    const { id, secret } = await register()
    receiver.secret = secret
    const incoming = await world.createReceiver({ incomingAmount: usd(500) })
    const paid = (await world.pay(incoming, 500)).textAt('id')
    await receiver.when(({ taken }) => taken.length === 5)
    const typesOf = (subject: string) =>
      receiver.taken.filter((event) => event.subject === subject).map(({ type }) => type)
    expect(typesOf(incoming)).toEqual([
      'incoming_payment.created',
      'incoming_payment.received',
      'incoming_payment.completed'
    ])
    expect(typesOf(paid)).toEqual(['outgoing_payment.created', 'outgoing_payment.completed'])
    expect(new Set(receiver.headers.map((headers) => headers['webhook-id']))).toEqual(
      new Set(receiver.taken.map((event) => event.id))
    )
    expect(receiver.taken.find(({ type }) => type === 'outgoing_payment.completed')?.data).toEqual(
      (await world.whenEnded(paid)).body
    )
    await eventually(async () => (await attempts(id)).length === 5)
    expect((await attempts(id)).every((attempt) => attempt.status === 204 && attempt.failure === '')).toBe(
      true
    )
  })

  it('gets only the types, and only of the wallet address, that it is registered for', async () => {
    await register({ types: ['incoming_payment.completed'], walletAddress: ALICE })
    const others = await world.createReceiver()
    await world.request('POST', `${pathOf(others)}/complete`)
    const created = await world.request('POST', '/incoming-payments', { body: { walletAddress: ALICE } })
    await world.request('POST', `${pathOf(created.textAt('id'))}/complete`)
    await receiver.when(({ posted }) => posted.length > 0)
    expect(receiver.posted).toMatchObject([
      { type: 'incoming_payment.completed', subject: created.textAt('id') }
    ])
  })

  it('gets the refunds of its wallet address, whether it paid or received, and no others', async () => {
    const types = ['refund.completed', 'incoming_payment.created']
    const endpoints = await Promise.all(
      [ALICE, BOB, CAROL].map(async (walletAddress) => {
        const one = await startWebhookReceiver()
        await register({ url: one.url, types, walletAddress })
        return one
      })
    )
    const paid = (await world.pay(await world.createReceiver(), 500)).textAt('id')
    await world.whenEnded(paid)
    const request = { refundOf: paid, value: '100', idempotencyKey: '', returnsFee: false }
    await world.operate('createRefund', request)
    const last = await world.createReceiver({ walletAddress: CAROL })
    const [alice, bob, carol] = endpoints
    const ofRefunds = ({ taken }: WebhookReceiver) => taken.filter(({ type }) => type === 'refund.completed')
    for (const one of [alice!, bob!]) {
      await one.when((receiver) => ofRefunds(receiver).length === 1)
      expect(ofRefunds(one)[0]?.data).toMatchObject({ refundOf: paid })
    }
    await carol!.when(({ taken }) => taken.some(({ subject }) => subject === last))
    expect(carol!.posted).toHaveLength(1)
    for (const one of endpoints) await one.stop()
  })

  it('that is given to another wallet address gets nothing of the one before, not even what it failed to take', async () => {
    const { id } = await register()
    receiver.answering = 500
    const others = await world.createReceiver()
    await receiver.when(({ posted }) => posted.length === 1)
    await eventually(async () => (await show(id)).undeliveredCount === 1)
    const heir = await startWebhookReceiver()
    const change = { url: heir.url, eventTypes: undefined, walletAddress: ALICE, enable: true }
    await callUnary(client, 'updateWebhookEndpoint', { id, ...change }, ONCE)
    await world.request('POST', `${pathOf(others)}/complete`)
    const own = await world.request('POST', '/incoming-payments', { body: { walletAddress: ALICE } })
    await heir.when(({ posted }) => posted.some(({ subject }) => subject === own.textAt('id')))
    await eventually(async () => (await show(id)).undeliveredCount === 0)
    expect(heir.posted.map(({ subject }) => subject)).toEqual([own.textAt('id')])
    await heir.stop()
  })

  it('that fails gets each event again with the same id, later ones of the subject after it, and those of others at once', async () => {
    const { id } = await register()
    const failing = await world.createReceiver()
    await receiver.when(({ taken }) => taken.length === 1)
    receiver.answering = (response, event) => {
      response.writeHead(event.subject === failing ? 500 : 204).end()
    }
    await world.request('POST', `${pathOf(failing)}/complete`)
    await receiver.when(({ posted }) => posted.length === 2)
    const other = await world.createReceiver()
    await receiver.when(({ taken }) => taken.at(-1)?.subject === other)
    await eventually(async () => (await show(id)).undeliveredCount === 1)
    receiver.answering = 200
    await advanceUntil(() => receiver.taken.at(-1)?.subject === failing, 1_000)
    const completions = receiver.posted.filter(
      ({ subject, type }) => subject === failing && type === 'incoming_payment.completed'
    )
    expect(new Set(completions.map((event) => event.id)).size).toBe(1)
    expect(completions.length).toBeGreaterThanOrEqual(2)
    await eventually(async () => (await show(id)).undeliveredCount === 0)
  })

  it('that answers 410 is disabled, which an event tells, and gets what it missed once it is enabled', async () => {
    const { id } = await register()
    const watcher = await startWebhookReceiver()
    await register({ url: watcher.url, types: ['webhook_endpoint.disabled'] })
    receiver.answering = 410
    const missed = await world.createReceiver()
    await watcher.when(({ taken }) => taken.length === 1)
    expect(watcher.taken[0]).toMatchObject({ subject: `urn:uuid:${id}`, data: { id, cause: 'gone' } })
    expect(await show(id)).toMatchObject({ disabledCause: events.DisabledCause.DISABLED_CAUSE_GONE })
    receiver.answering = 204
    const later = await world.createReceiver()
    const none = { url: undefined, eventTypes: undefined, walletAddress: undefined }
    await callUnary(client, 'updateWebhookEndpoint', { id, ...none, enable: true }, ONCE)
    await receiver.when(({ taken }) =>
      [missed, later].every((url) => taken.some(({ subject }) => subject === url))
    )
    await watcher.stop()
  })

  it('that takes nothing for three days is disabled', async () => {
    const { id } = await register()
    receiver.answering = 503
    await world.createReceiver()
    await receiver.when(({ posted }) => posted.length === 1)
    await eventually(async () => (await show(id)).failingSince !== undefined)
    expect(await counts()).toEqual({ disabledCount: 0, failingCount: 1 })
    await advanceUntil(async () => (await show(id)).disabledAt !== undefined, 3_600_000)
    expect(await show(id)).toMatchObject({ disabledCause: events.DisabledCause.DISABLED_CAUSE_FAILING })
    expect(await counts()).toEqual({ disabledCount: 1, failingCount: 0 })
    const failed = await attempts(id)
    expect(failed.length).toBeGreaterThan(3)
    expect(failed.length).toBeLessThan(60)
    const [last, first] = [failed[0]!, failed.at(-1)!]
    expect(last.attemptedAt!.getTime() - first.attemptedAt!.getTime()).toBeGreaterThan(2 * DAY_MS)
    expect(new Set(failed.map(({ eventId }) => eventId)).size).toBe(1)
  })

  it('is asked again when it says, and not before', async () => {
    const { id } = await register()
    receiver.answering = (response) => {
      response.writeHead(429, { 'retry-after': '7200' }).end()
    }
    await world.createReceiver()
    await receiver.when(({ posted }) => posted.length === 1)
    await eventually(async () => (await show(id)).undeliveredCount === 1)
    world.clock.advanceSeconds(7_190)
    // Two rounds of looking for what is due.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(receiver.posted).toHaveLength(1)
    receiver.answering = 204
    await advanceUntil(() => receiver.taken.length === 1, 5_000)
  })

  it('that redirects, hangs, or sends endless or large answers holds up nobody', async () => {
    const strange: Record<string, WebhookReceiver> = {}
    for (const name of ['redirects', 'hangs', 'endless', 'large'])
      strange[name] = await startWebhookReceiver()
    strange.redirects!.answering = (response) => response.writeHead(302, { location: receiver.url }).end()
    strange.hangs!.answering = () => undefined
    strange.endless!.answering = (response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 10)
      response.on('close', () => {
        clearInterval(timer)
      })
    }
    strange.large!.answering = (response) => response.writeHead(200).end(Buffer.alloc(10_000_000))
    const ids: Record<string, string> = {}
    for (const [name, { url }] of Object.entries(strange)) ids[name] = (await register({ url })).id
    await register()
    const created: string[] = []
    for (let count = 0; count < 5; count += 1) created.push(await world.createReceiver())
    await receiver.when(({ taken }) => taken.length === 5)
    // Not even its first attempt is over.
    expect(await attempts(ids.hangs!)).toEqual([])
    expect(receiver.taken.map(({ subject }) => subject).sort()).toEqual(created.sort())
    await strange.endless!.when(({ taken }) => taken.length === 5)
    await strange.large!.when(({ taken }) => taken.length === 5)
    await eventually(async () => (await attempts(ids.redirects!)).length > 0)
    expect((await attempts(ids.redirects!))[0]).toMatchObject({ status: 302, failure: 'redirect' })
    await eventually(async () => (await attempts(ids.hangs!)).length > 0)
    expect((await attempts(ids.hangs!))[0]).toMatchObject({ status: 0, failure: 'timeout' })
    for (const each of Object.values(strange)) await each.stop()
  })

  it('is signed for by both secrets for a day after a rotation', async () => {
    const { id, secret } = await register()
    receiver.secret = secret
    const rotated = await callUnary(client, 'rotateWebhookSecret', { id, secret: '' }, ONCE)
    expect(rotated.secret).not.toBe(secret)
    await world.createReceiver()
    await receiver.when(({ taken }) => taken.length === 1)
    receiver.secret = rotated.secret
    await world.createReceiver()
    await receiver.when(({ taken }) => taken.length === 2)
    expect(receiver.headers.at(-1)?.['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    // Whoever holds the endpoint goes on holding it.
    receiver.secret = undefined
    world.clock.advanceSeconds(DAY_MS / 1_000)
    await world.createReceiver()
    await receiver.when(({ taken }) => taken.length === 3)
    expect(receiver.headers.at(-1)?.['webhook-signature']).toMatch(/^v1,\S+$/)
    // No secret is readable in the database.
    const stored = JSON.stringify(await world.database.query('select * from webhook_endpoint'))
    for (const known of [secret, rotated.secret]) expect(stored).not.toContain(known.slice(6, 30))
  })

  it('gets a test event at once, and again what an operator replays', async () => {
    const given = `whsec_${randomBytes(24).toString('base64')}`
    const { id, secret } = await register({ secret: given })
    expect(secret).toBe(given)
    receiver.secret = given
    const { attempt } = await callUnary(client, 'testWebhookEndpoint', { id }, ONCE)
    expect(attempt).toMatchObject({ eventType: 'webhook.test', status: 204, failure: '' })
    expect(receiver.taken).toMatchObject([{ type: 'webhook.test' }])
    const after = new Date(world.clock.now() - 1)
    const created = [await world.createReceiver(), await world.createReceiver()]
    await receiver.when(({ taken }) => taken.length === 3)
    await eventually(async () => (await attempts(id)).length >= 2)
    await callUnary(client, 'replayWebhooks', { id, after }, ONCE)
    await receiver.when(({ taken }) =>
      created.every((url) => taken.filter(({ subject }) => subject === url).length === 2)
    )
    const ids = receiver.taken.filter(({ subject }) => subject === created[0]).map((event) => event.id)
    expect(new Set(ids).size).toBe(1)
  })
})

describe('a malformed request', () => {
  it.each([
    [
      'a private address',
      { url: 'https://10.2.0.1/' },
      'INVALID_ARGUMENT url must not have a private address'
    ],
    [
      'a private IPv6 address',
      { url: 'https://[fd00::1]/' },
      'INVALID_ARGUMENT url must not have a private address'
    ],
    [
      'a mapped address',
      { url: 'https://[::ffff:10.2.0.1]/' },
      'INVALID_ARGUMENT url must not have a private address'
    ],
    [
      'the metadata service',
      { url: 'http://169.254.169.254/' },
      'INVALID_ARGUMENT url must not have a private address'
    ],
    [
      'plain http to the internet',
      { url: 'http://93.184.216.34/' },
      'INVALID_ARGUMENT url must be an https URL'
    ],
    [
      'credentials',
      { url: 'https://user:secret@hooks.example/' },
      'INVALID_ARGUMENT url must not carry credentials'
    ],
    [
      '2,049 characters',
      { url: `https://hooks.example/${'x'.repeat(2_027)}` },
      'INVALID_ARGUMENT url is too long'
    ],
    ['no URL', { url: 'hooks.example' }, 'INVALID_ARGUMENT url is not an absolute URL'],
    ['another scheme', { url: 'ftp://hooks.example/' }, 'INVALID_ARGUMENT url must be an https URL'],
    [
      'a short secret',
      { secret: `whsec_${randomBytes(23).toString('base64')}` },
      'INVALID_ARGUMENT secret must be'
    ],
    [
      'a long secret',
      { secret: `whsec_${randomBytes(65).toString('base64')}` },
      'INVALID_ARGUMENT secret must be'
    ],
    [
      'a secret of another form',
      { secret: 'hunter2-hunter2-hunter2-hunter2' },
      'INVALID_ARGUMENT secret must be'
    ],
    [
      'an unknown type',
      { types: ['incoming_payment.created', 'x'] },
      'INVALID_ARGUMENT types[1] must be a type'
    ],
    ['a wallet address that is none', { walletAddress: 'alice' }, 'INVALID_ARGUMENT wallet_address must be']
  ])('with %s is refused, and changes nothing', async (_what, request, refusal) => {
    const before = await world.database.query('select count(*) from webhook_endpoint')
    expect(await refusalOf(register(request))).toContain(refusal)
    expect(await world.database.query('select count(*) from webhook_endpoint')).toEqual(before)
  })

  it.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'])(
    'to replay after %s is taken',
    async (after) => {
      const { id } = await register()
      const { eventCount } = await callUnary(client, 'replayWebhooks', { id, after: new Date(after) }, ONCE)
      expect(eventCount > 0n).toBe(after.startsWith('0'))
    }
  )

  it.each([-62_135_596_800_001, -8.64e15, 253_402_300_800_000, 8.64e15])(
    'to replay after an instant that the database cannot read (%d) is refused',
    async (afterMs) => {
      const { id } = await register()
      const replayed = callUnary(client, 'replayWebhooks', { id, after: new Date(afterMs) }, ONCE)
      expect(await refusalOf(replayed)).toContain('INVALID_ARGUMENT after must be an instant')
    }
  )

  it('lists all attempts, the newest first, page by page', async () => {
    const { id } = await register({ url: 'http://10.1.2.3:8080/', types: ['outgoing_payment.failed'] })
    // Numbers with more digits follow those with fewer.
    const count = 250
    await world.database.query(
      `insert into webhook_attempt (endpoint_id, event_id, event_type, attempted_at, duration_ms, status)
       select $1, gen_random_uuid(), 'outgoing_payment.failed', now(), n, 204 from generate_series(1, $2::integer) n`,
      [id, count]
    )
    const listed: number[] = []
    let pageToken = ''
    do {
      const request = { id, pageSize: 7, pageToken }
      const page = await callUnary(client, 'listWebhookAttempts', request, ONCE)
      listed.push(...page.attempts.map(({ durationMs }) => durationMs))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(listed).toEqual(Array.from({ length: count }, (_, index) => count - index))
  })

  it('about an endpoint that does not exist is NOT_FOUND', async () => {
    for (const id of ['x', '0190a8b1-0000-7000-8000-000000000001', 'a\u0000b', '/'.repeat(10_000)]) {
      const none = { url: undefined, eventTypes: undefined, walletAddress: undefined, enable: true }
      const calls = [
        callUnary(client, 'getWebhookEndpoint', { id }, ONCE),
        callUnary(client, 'updateWebhookEndpoint', { id, ...none }, ONCE),
        callUnary(client, 'disableWebhookEndpoint', { id }, ONCE),
        callUnary(client, 'deleteWebhookEndpoint', { id }, ONCE),
        callUnary(client, 'rotateWebhookSecret', { id, secret: '' }, ONCE),
        callUnary(client, 'testWebhookEndpoint', { id }, ONCE),
        callUnary(client, 'listWebhookAttempts', { id, pageSize: 0, pageToken: '' }, ONCE),
        callUnary(client, 'replayWebhooks', { id, after: undefined }, ONCE)
      ]
      for (const refusal of await Promise.all(calls.map(refusalOf)))
        expect(refusal).toBe('NOT_FOUND There is no such webhook endpoint')
    }
  })

  it('on an allowed private network is registered, also without TLS', async () => {
    const { id } = await register({ url: 'http://10.1.2.3:8080/hooks', types: ['outgoing_payment.failed'] })
    expect(await show(id)).toMatchObject({ url: 'http://10.1.2.3:8080/hooks' })
  })
})

const pathOf = (url: string): string => new URL(url).pathname
