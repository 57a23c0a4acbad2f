import { randomBytes, randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createLogger } from '@open-payments-server/runtime'
import { startTelemetry } from '@open-payments-server/service-kit/telemetry'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { sizeOnDisk } from '@open-payments-server/testing'
import { afterEach, describe, expect, it } from '@jest/globals'
import { startPaymentWorld, usd } from './support/payment-world.js'
import {
  ALICE,
  BOB,
  PUBLIC_URL,
  startTestResourceServer,
  type TestResourceServer
} from './support/resource-server.js'

const LIST = [{ type: 'incoming-payment' as const, actions: ['list'] }]

let service: TestResourceServer | undefined

afterEach(async () => {
  await service?.stop()
  service = undefined
})

describe('marks of nonces', () => {
  it('are left by no request beyond the limit of its client', async () => {
    const marks: string[] = []
    const store = createInProcessStore()
    const markOnce = (key: string): Promise<boolean> => {
      marks.push(key)
      return Promise.resolve(true)
    }
    service = await startTestResourceServer({
      settings: { RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_REQUESTS: '2' },
      overrides: { sharedStore: { ...store, markOnce } }
    })
    const shop = service.createClient('shop')
    const list = () =>
      shop.request(LIST, 'GET', `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`, {
        signature: { nonce: randomBytes(128).toString('hex') }
      })
    const statuses = [await list(), await list(), await list(), await list()].map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 429, 429])
    expect(marks).toHaveLength(2)
    // The same length for any nonce.
    for (const mark of marks) expect(mark).toMatch(/^nonce:[\w-]{43}$/)
    await store.close()
  })
})

describe('an incoming payment of a client without the consent of the account holder', () => {
  const CREATE = [{ type: 'incoming-payment' as const, actions: ['create'] }]
  const DAY_MS = 86_400_000
  /** Exactly as many bytes of JSON. */
  const metadataOf = (bytes: number) => ({ note: 'n'.repeat(bytes - '{"note":""}'.length) })

  /** Creates twice, with or without consent: with the given values, and with those that are stored then. */
  const create = async (
    consentedWalletAddress: string,
    body: Record<string, unknown>
  ): Promise<{ status: number; details: string[] }> => {
    service ??= await startTestResourceServer()
    const shop = service.createClient('shop')
    const { accessToken } = service.auth.issueToken({
      client: shop.client,
      keys: [shop.key],
      access: CREATE,
      consentedWalletAddress
    })
    const ask = () =>
      shop.request(CREATE, 'POST', '/incoming-payments', {
        accessToken,
        body: { walletAddress: ALICE, ...body }
      })
    const [first, again] = [await ask(), await ask()]
    expect(again.status).toBe(first.status)
    return { status: first.status, details: Object.keys(first.at('error.details') ?? {}) }
  }
  const ahead = (days: number) => ({
    expiresAt: new Date((service?.clock.now() ?? 0) + days * DAY_MS).toISOString()
  })

  it('expires within a year and carries at most 2 KB of metadata; what alice agreed to is no consent of bob', async () => {
    service = await startTestResourceServer()
    const fits = { status: 201, details: [] }
    for (const consentedBy of ['', BOB]) {
      expect(await create(consentedBy, ahead(366))).toEqual(fits)
      expect(await create(consentedBy, { ...ahead(367) })).toEqual({ status: 400, details: ['expiresAt'] })
      expect(await create(consentedBy, { metadata: metadataOf(2_048) })).toEqual(fits)
      expect(await create(consentedBy, { metadata: metadataOf(2_049) })).toEqual({
        status: 400,
        details: ['metadata']
      })
      // Much longer as the database stores it than as sent.
      expect(await create(consentedBy, { metadata: { numbers: Array(20).fill(1e300) } })).toEqual({
        status: 400,
        details: ['metadata']
      })
    }
    expect(await create(ALICE, { ...ahead(3_650), metadata: metadataOf(16_384) })).toEqual(fits)
  })
})

describe('the rows of a day', () => {
  it('are limited for a network address where no account holder agreed, and reading goes on', async () => {
    service = await startTestResourceServer({
      settings: { RATE_LIMITS: 'true', RATE_LIMIT_ADDRESS_ROWS: '1' }
    })
    const started = service
    const { auth } = started
    const access = [{ type: 'incoming-payment' as const, actions: ['create', 'list'] }]
    const ask = async (
      name: string,
      consentedWalletAddress: string,
      method: 'GET' | 'POST'
    ): Promise<number> => {
      const { client, key, request } = started.createClient(name)
      const { accessToken } = auth.issueToken({ client, keys: [key], access, consentedWalletAddress })
      const path =
        method === 'GET'
          ? `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`
          : '/incoming-payments'
      const body = method === 'GET' ? {} : { body: { walletAddress: ALICE } }
      return (await request(access, method, path, { accessToken, ...body })).status
    }
    expect([await ask('shop', '', 'POST'), await ask('market', '', 'POST')]).toEqual([201, 429])
    // Bob's consent is not alice's.
    expect(await ask('market', BOB, 'POST')).toBe(429)
    expect([await ask('market', '', 'GET'), await ask('market', ALICE, 'POST')]).toEqual([200, 201])
  })

  it('are counted by the route that takes a request, whatever its query says', async () => {
    service = await startTestResourceServer({
      settings: { RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_ROWS: '1' }
    })
    const shop = service.createClient('shop')
    const access = [{ type: 'incoming-payment' as const, actions: ['create', 'complete'] }]
    const create = () =>
      shop.request(access, 'POST', '/incoming-payments?x=/complete', { body: { walletAddress: ALICE } })
    const created = await create()
    expect([created.status, (await create()).status]).toEqual([201, 429])
    const { pathname } = new URL(created.textAt('id'))
    expect((await shop.request(access, 'POST', `${pathname}/complete?x=y`)).status).toBe(200)
  })
})

describe('the largest that a stranger can have stored:', () => {
  const ROWS = 100
  /** Members and elements that JSON may have, less those around the list. */
  const ELEMENTS_MAX = 4_000
  const METADATA_BYTES = 2_048
  const CONSENTED_METADATA_BYTES = 16_384
  /** Text that does not compress. */
  const random = (length: number): string => randomBytes(length).toString('base64url').slice(0, length)
  const CLIENT = `https://${random(248)}`
  /** Events are kept for another time than what they tell of. */
  const EVENTS = `relname in ('event', 'event_outbox')`
  const STATE = `not ${EVENTS}`
  const AMOUNT = { value: '18446744073709551615', assetCode: 'USD', assetScale: 2 }
  const access = [
    { type: 'incoming-payment' as const, actions: ['create'] },
    { type: 'quote' as const, actions: ['create'] }
  ]
  /** The maximum number of elements. */
  const listOf = (element: () => string, bytesMax: number): string => {
    const elements: string[] = []
    for (let bytes = '{"":[]}'.length; ;) {
      const next = element()
      bytes += next.length + 1
      if (bytes - 1 > bytesMax || elements.length === ELEMENTS_MAX) return `{"":[${elements.join(',')}]}`
      elements.push(next)
    }
  }
  /** As the database keeps them, numbers are longer than they came. */
  const metadataOf = (bytes: number): (() => string)[] => [
    () => `{"":"${random(bytes - '{"":""}'.length)}"}`,
    () => listOf(() => String(randomInt(100)), bytes)
  ]
  const expectDocumented = async (what: string, bytes: number): Promise<void> => {
    const limit = await documented(what)
    expect(limit).toBeGreaterThan(0)
    expect(bytes).toBeLessThanOrEqual(limit)
    // Not much less either: else the largest was not found.
    expect(bytes).toBeGreaterThan(limit / 4)
  }

  /** Creates many of one kind. Returns the size of one on disk, in bytes, with its share of all indexes. */
  const measure = async (
    path: string,
    bodyOf: () => object | Promise<object>,
    consentedWalletAddress = ''
  ): Promise<number> => {
    service ??= await startTestResourceServer()
    const { auth, database } = service
    const shop = service.createClient('shop')
    const { accessToken } = auth.issueToken({
      client: CLIENT,
      keys: [shop.key],
      access,
      consentedWalletAddress
    })
    const create = async (): Promise<void> => {
      const headers = { 'idempotency-key': random(255) }
      const answer = await shop.request(access, 'POST', path, { accessToken, headers, body: await bodyOf() })
      expect(answer.status).toBe(201)
    }
    return measureOf(database, create)
  }

  const measureOf = async (
    database: TestResourceServer['database'],
    create: () => Promise<unknown>,
    rows = ROWS
  ): Promise<number> => {
    // The first of its kind adds the first page of each index.
    await create()
    const before = await sizeOnDisk(database.query, STATE)
    for (let at = 0; at < rows; at += 1) await create()
    return Math.ceil(((await sizeOnDisk(database.query, STATE)) - before) / rows)
  }

  const documented = async (what: string): Promise<number> => {
    const limits = await readFile(new URL('../../../docs/limits.md', import.meta.url), 'utf8')
    const bytes = new RegExp(`\\| ${what} +\\| ([\\d,]+) bytes`).exec(limits)?.[1]
    return Number(bytes?.replaceAll(',', ''))
  }

  it.each([
    ['Incoming payment', METADATA_BYTES, ''],
    ['Incoming payment with consent', CONSENTED_METADATA_BYTES, ALICE]
  ])(
    '%s, whatever its metadata is, takes no more of the disk than the documentation says',
    async (what, metadataBytes, consentedWalletAddress) => {
      const sizes: number[] = []
      for (const metadata of metadataOf(metadataBytes)) {
        const bodyOf = () => ({
          walletAddress: ALICE,
          incomingAmount: AMOUNT,
          expiresAt: new Date((service?.clock.now() ?? 0) + 360 * 86_400_000).toISOString(),
          metadata: JSON.parse(metadata()) as object
        })
        sizes.push(await measure('/incoming-payments', bodyOf, consentedWalletAddress))
      }
      await expectDocumented(what, Math.max(...sizes))
    },
    300_000
  )

  it('an outgoing payment takes no more of the disk than the documentation says', async () => {
    const world = await startPaymentWorld()
    try {
      const receiver = await world.createReceiver()
      const sizes: number[] = []
      for (const metadata of metadataOf(CONSENTED_METADATA_BYTES)) {
        const pay = async (): Promise<void> => {
          const answer = await world.request('POST', '/outgoing-payments', {
            headers: { 'idempotency-key': random(255) },
            body: {
              walletAddress: ALICE,
              incomingPayment: receiver,
              debitAmount: usd(1),
              metadata: JSON.parse(metadata()) as object
            }
          })
          expect(answer.status).toBe(201)
          await world.whenEnded(answer.textAt('id'))
        }
        sizes.push(await measureOf(world.database, pay))
      }
      await expectDocumented('Outgoing payment', Math.max(...sizes))
    } finally {
      await world.stop()
    }
  }, 300_000)

  it('a refund takes no more of the disk than the documentation says', async () => {
    const world = await startPaymentWorld({ settings: { EXCHANGE_RATES: 'USD/EUR=0.9', FEES: 'USD=0+1000' } })
    try {
      const receiver = await world.createReceiver({ walletAddress: `${PUBLIC_URL}/carol` })
      const refundOf = (await world.pay(receiver, 900_000)).textAt('id')
      await world.whenEnded(refundOf)
      const request = { refundOf, value: '1000', returnsFee: true }
      const create = () => world.operate('createRefund', { ...request, idempotencyKey: random(255) })
      await expectDocumented('Refund', await measureOf(world.database, create))
    } finally {
      await world.stop()
    }
  }, 300_000)

  it('an id that was given up takes no more of the disk than the documentation says', async () => {
    const world = await startPaymentWorld()
    try {
      const receiver = await world.createReceiver()
      const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(1) }
      let asked = 0
      const askAgain = async (): Promise<void> => {
        // One signed request under many keys: each leaves an id that stands for the payment.
        const headers = { 'idempotency-key': random(255) }
        expect((await world.request('POST', '/outgoing-payments', { headers, body })).status).toBe(201)
        asked += 1
        if (asked % ROWS === 0) await world.whenDelivered()
      }
      // A page has room for dozens, so a few pages that were free before must not count.
      const bytes = await measureOf(world.database, askAgain, 5 * ROWS)
      await expectDocumented('Given-up id at the resource server', bytes)
    } finally {
      await world.stop()
    }
  }, 300_000)

  it('an event takes no more of the disk than the documentation says', async () => {
    // Each request has a trace in production, and an event tells of it.
    const telemetry = startTelemetry(
      { OTEL_TRACES_SAMPLER_ARG: 0, TRACE_CONTEXT_TRUSTED: false },
      {
        service: 'resource-server',
        version: '0.0.0',
        logger: createLogger({ service: 'resource-server', level: 'silent' })
      }
    )
    const world = await startPaymentWorld()
    try {
      const receiver = await world.createReceiver()
      const pay = async (): Promise<void> => {
        await world.whenEnded((await world.pay(receiver, 1)).textAt('id'))
      }
      const whenPublished = async (): Promise<number> => {
        for (;;) {
          const [row] = await world.database.query<{ left: number; published: number }>(
            `select (select count(*) from event_outbox)::integer as left, (select count(*) from event)::integer as published`
          )
          if (row?.left === 0) return row.published
          await new Promise(setImmediate)
        }
      }
      await pay()
      const published = await whenPublished()
      const before = await sizeOnDisk(world.database.query, EVENTS)
      for (let at = 0; at < ROWS; at += 1) await pay()
      const more = (await whenPublished()) - published
      expect(more).toBe(3 * ROWS)
      const [traced] = await world.database.query<{ count: number }>(
        'select count(trace)::integer as count from event'
      )
      expect(traced?.count).toBe(published + more)
      await expectDocumented(
        'Event',
        Math.ceil(((await sizeOnDisk(world.database.query, EVENTS)) - before) / more)
      )
    } finally {
      await world.stop()
      await telemetry.stop()
    }
  }, 300_000)

  it('a quote takes no more of the disk than the documentation says', async () => {
    service = await startTestResourceServer()
    const shop = service.createClient('shop')
    const created = await shop.request(access, 'POST', '/incoming-payments', { body: { walletAddress: BOB } })
    const receiver = created.textAt('id')
    const body = { walletAddress: ALICE, receiver, method: 'ilp', debitAmount: AMOUNT }
    const size = await measure('/quotes', () => body)
    await expectDocumented('Quote', size)
  }, 300_000)
})
