import { setTimeout as delay } from 'node:timers/promises'
import { createLogger } from '@open-payments-server/runtime'
import { scrapeMetrics, send } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { composeResourceServer, loadConfig, type RunningResourceServer } from '../src/index.js'
import { EVENT_TYPES } from '../src/domain/event-types.js'
import { openEventSource, signedHeaders, type TestEventSource } from './support/event-source.js'
import { PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'
import { createToldReceiver } from './support/told-receiver.js'
import { AUTH_SERVER_URL } from './support/resource-server.js'

const TYPES = Object.keys(EVENT_TYPES)
/** Within which a change that another replica made is told, in milliseconds. */
const TOLD_WITHIN_MS = 200
const CHANGES = 15
/** After how many milliseconds readers look by themselves: while messages of other replicas reach them, and otherwise. */
const LOOK_AFTER_MS: readonly unknown[] = [1_000, 100]

/** Postpones by a minute how every reader in this process looks by itself, until all mocks are restored. */
function postponeLooks(): void {
  const start = globalThis.setTimeout
  jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((look: () => void, ms?: number) =>
      start(look, LOOK_AFTER_MS.includes(ms) ? 60_000 : ms)
    )
}

const redisUrl = process.env.TEST_REDIS_URL
const withRedis = redisUrl === undefined ? describe.skip : describe

withRedis('replicas', () => {
  const shared = { REPLICA_COUNT: '2', REDIS_URL: redisUrl ?? '' }
  let world: PaymentWorld
  const started: RunningResourceServer[] = []

  /** Starts another replica, with further settings. */
  const startReplica = async (settings: Record<string, string> = shared): Promise<RunningResourceServer> => {
    const config = loadConfig({
      ENVIRONMENT: 'development',
      PUBLIC_URL,
      AUTH_SERVER_URL,
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: '0',
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: '0',
      METRICS_PORT: '0',
      AUTH_GRPC_TARGET: `127.0.0.1:${String(world.auth.port)}`,
      DATABASE_URL: world.database.url,
      SHARED_SECRET_KEY: 'the-master-key-of-shared-secrets',
      SHUTDOWN_GRACE_SECONDS: '5',
      ...settings
    })
    const logger = createLogger({ service: 'resource-server', level: 'silent' })
    const replica = await composeResourceServer(config, { clock: world.clock, logger })
    started.push(replica)
    return replica
  }
  const readerAt = ({ httpPort }: RunningResourceServer) => ({
    key: world.shop.key,
    accessToken: world.token,
    now: () => world.clock.now(),
    connect: (url: string) => `http://127.0.0.1:${String(httpPort)}${url.slice(PUBLIC_URL.length)}`
  })
  const openAt = (replica: RunningResourceServer, url: string): TestEventSource =>
    openEventSource(url, TYPES, readerAt(replica))
  const waitAt = (replica: RunningResourceServer, url: string, prefer: string) => {
    const reader = readerAt(replica)
    return send('GET', reader.connect(url), signedHeaders(reader, url, { prefer }))
  }
  /** Resolves once a request waits at each of these, and has read what it waits for. */
  const whenWaiting = async (...replicas: readonly RunningResourceServer[]): Promise<void> => {
    for (const { metricsPort, pool } of replicas) {
      const waiting = async () =>
        (await scrapeMetrics(metricsPort)).at('open_payments_waiting_clients{kind="request"}')
      while ((await waiting()) !== 1 || pool.idleCount < pool.totalCount) await delay(5)
    }
  }
  const readyAt = async (replica: RunningResourceServer): Promise<number> =>
    (await send('GET', `http://127.0.0.1:${String(replica.httpPort)}/readyz`)).status

  beforeAll(async () => {
    world = await startPaymentWorld({ settings: shared })
  })
  afterEach(() => {
    jest.restoreAllMocks()
  })
  afterAll(async () => {
    for (const replica of started) await replica.stop()
    await world.stop()
  })

  it('tell of what another did within 200 ms', async () => {
    const replica = await startReplica()
    const receiver = await createToldReceiver(world)
    const source = openAt(replica, receiver)
    await source.whenTold(1)
    const delaysMs: number[] = []
    for (let index = 1; index <= CHANGES; index += 1) {
      const waiting = waitAt(replica, receiver, 'wait=30')
      await whenWaiting(replica)
      const paid = await world.pay(receiver, 1)
      await world.whenEnded(paid.textAt('id'))
      const endedAtMs = performance.now()
      expect((await waiting).at('receivedAmount')).toEqual(usd(index))
      delaysMs.push(performance.now() - endedAtMs)
      await source.whenTold(index + 1)
      delaysMs.push((source.toldAtMs[index] ?? Infinity) - endedAtMs)
    }
    await source.close()
    // Of two delays for each change, three of four: if readers looked once a second, one of five would be.
    const sorted = delaysMs.toSorted((one, other) => one - other)
    expect(sorted[Math.floor(1.5 * CHANGES)]).toBeLessThan(TOLD_WITHIN_MS)
  })

  it('are woken by the message of another, and do not look by themselves first', async () => {
    const [replica, apart] = [await startReplica(), await startReplica({})]
    const receiver = await createToldReceiver(world)
    postponeLooks()
    const source = openAt(replica, receiver)
    await source.whenTold(1)
    const waiting = waitAt(replica, receiver, 'wait=30')
    const unaware = waitAt(apart, receiver, 'wait=3')
    await whenWaiting(replica, apart)
    await world.pay(receiver, 1)
    expect((await waiting).at('receivedAmount')).toEqual(usd(1))
    await source.whenTold(2)
    await world.pay(receiver, 1)
    expect(await source.whenTold(3)).toMatchObject([{}, {}, { data: { receivedAmount: usd(2) } }])
    // Whom no message reaches would have looked long ago.
    expect((await unaware).at('receivedAmount')).toEqual(usd(0))
    await source.close()
  })

  it('find out by themselves when no message reaches them', async () => {
    const apart = await startReplica({})
    const receiver = await createToldReceiver(world)
    const source = openAt(apart, receiver)
    await source.whenTold(1)
    const waiting = waitAt(apart, receiver, 'wait=30')
    await whenWaiting(apart)
    await world.pay(receiver, 8)
    expect((await waiting).at('receivedAmount')).toEqual(usd(8))
    expect(await source.whenTold(2)).toMatchObject([{}, { data: { receivedAmount: usd(8) } }])
    await source.close()
  })

  it('that stop are not ready first, and then send everyone elsewhere', async () => {
    const replica = await startReplica({ ...shared, SHUTDOWN_DELAY_SECONDS: '5' })
    const receiver = await createToldReceiver(world)
    let target = replica
    const source = openEventSource(receiver, TYPES, {
      ...readerAt(replica),
      connect: (url) => readerAt(target).connect(url)
    })
    const first = await source.whenTold(1)
    const waiting = waitAt(replica, receiver, 'wait=60')
    expect(await readyAt(replica)).toBe(200)
    const stopping = replica.stop()
    expect(await readyAt(replica)).toBe(503)
    // Meanwhile everything goes on.
    await world.pay(receiver, 2)
    expect((await waiting).at('receivedAmount')).toEqual(usd(2))
    await source.whenTold(2)
    const last = waitAt(replica, receiver, 'wait=60')
    target = await startReplica()
    await stopping
    expect(await last).toMatchObject({ status: 200, body: { receivedAmount: usd(2) } })
    await world.pay(receiver, 3)
    const told = await source.whenTold(3)
    expect(told[2]?.data).toMatchObject({ receivedAmount: usd(5) })
    expect(source.requests).toEqual([undefined, told[1]?.id])
    expect(first[0]?.id).not.toBe(told[1]?.id)
    await source.close()
  })
})
