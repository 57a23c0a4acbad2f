import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, isRpcError } from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import { type RunningTelemetry, startTelemetry } from '@open-payments-server/service-kit/telemetry'
import { startTcpProxy, type TcpProxy } from '@open-payments-server/local-services'
import { send } from '@open-payments-server/testing'
import { ALLOWED } from '../src/canaries/allowed.js'
import { Canaries } from '../src/canaries/canaries.js'
import { Outputs } from '../src/canaries/outputs.js'
import { INJECTION, Poison } from '../src/canaries/poison.js'
import { outgoingAccess, requestInteractiveGrant } from '../src/consent.js'
import { allSettled, eventually } from '../src/payments.js'
import type { Settings } from '../src/plan-system.js'
import { type Groundwork, layGroundwork, requestKinds } from '../src/request-kinds.js'
import type { ServiceName } from '../src/service-name.js'
import { runMigration } from '../src/service-process.js'
import { startSystem, type System } from '../src/system.js'
import { startTraceCollector, type TraceCollector } from '../src/trace-collector.js'

const ONCE = { idempotent: false }
const REDIS_URL = process.env.TEST_REDIS_URL
/** Maximum wait for answers while something is broken: some come only after it is repaired. */
const PATIENCE_MS = 1_000
const WHAT_BREAKS = ['database of the auth server', 'database of the resource server', 'auth server'].concat(
  REDIS_URL === undefined ? [] : ['Redis']
)

/**
 * Every field and header of every request contains an unmistakable value. Then all outputs of the services, however they fail,
 * are searched for these values and for every secret that the services make.
 */
describe('what is secret', () => {
  const canaries = new Canaries()
  const outputs = new Outputs()
  const poison = new Poison(canaries, outputs)
  const proxies = new Map<string, TcpProxy>()
  const underWay: Promise<unknown>[] = []
  let system: System
  let groundwork: Groundwork
  let releaseStreams: () => void
  let collector: TraceCollector
  let telemetry: RunningTelemetry

  const throughProxy = (name: string) => async (url: string) => {
    const proxy = await startTcpProxy(url)
    proxies.set(name, proxy)
    return proxy.url
  }

  beforeAll(async () => {
    releaseStreams = outputs.catchStreams()
    collector = await startTraceCollector()
    telemetry = startTelemetry(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_TRACES_SAMPLER_ARG: 1,
        TRACE_CONTEXT_TRUSTED: false
      },
      { service: 'auth-server', version: '0.0.0', logger: outputs.logger('auth-server') }
    )
    const shared: Settings = {
      METRICS_PORT: '0',
      ...(REDIS_URL === undefined ? {} : await redisSettings(REDIS_URL))
    }
    system = await startSystem({
      auth: { ...shared, CONTINUATION_WAIT_SECONDS: '0' },
      resource: { ...shared, PROCESSING_POLL_SECONDS: '1' },
      loggerOf: (service) => outputs.logger(service),
      detours: {
        authDatabase: throughProxy('database of the auth server'),
        resourceDatabase: throughProxy('database of the resource server'),
        authServerGrpc: async (port) =>
          Number(new URL(await throughProxy('auth server')(`http://127.0.0.1:${String(port)}`)).port)
      }
    })
    watchSettings(system)
    groundwork = await layGroundwork(system)
  })
  afterAll(async () => {
    releaseStreams()
    await system.stop()
    await telemetry.stop()
    await collector.stop()
    for (const proxy of proxies.values()) await proxy.stop()
  })

  /** With a password, which a server without one accepts. */
  async function redisSettings(url: string): Promise<Settings> {
    const reached = new URL(await throughProxy('Redis')(url))
    if (reached.password === '') reached.password = canaries.mint('password of Redis')
    canaries.watch('password of Redis', reached.password)
    return { REDIS_URL: reached.href }
  }

  function watchSettings({ authServers, resourceServers }: System): void {
    for (const { settings } of [...authServers, ...resourceServers] as { settings: Settings }[]) {
      for (const name of ['IDENTITY_PROVIDER_SECRET', 'SHARED_SECRET_KEY'])
        canaries.watch(name, settings[name])
      canaries.watch('password of a database', new URL(settings.DATABASE_URL ?? '').password)
    }
  }

  it('is sent in every field and header of every kind of request', async () => {
    await poison.during(async () => {
      const poisoned = await layGroundwork({ ...system, shop: poison.client(system.shop) })
      for (const kind of requestKinds()) {
        const request = await kind.prepare(poisoned)
        expect({ kind: kind.name, answer: await request() }).toEqual({
          kind: kind.name,
          answer: kind.answer
        })
      }
      await allSettled(system)
      await rejectWithReason()
    })
  })

  async function rejectWithReason(): Promise<void> {
    const { redirect } = await requestInteractiveGrant(system, system.shop, [outgoingAccess(system)])
    const started = await send('GET', redirect)
    const page = new URL(started.headers.get('location') ?? '').searchParams
    const url = `${system.identityProviderUrl()}/grant/${String(page.get('interactId'))}/${String(page.get('nonce'))}/reject`
    const headers = { 'x-idp-secret': system.identityProviderSecret, 'content-type': 'application/json' }
    for (const reason of [
      `${canaries.mint('malformed reason')}${INJECTION}`,
      canaries.mint('reason of a rejection')
    ]) {
      await send('POST', url, headers, Buffer.from(JSON.stringify({ reason })))
    }
  }

  it('is sent in every field of gRPC calls', async () => {
    const { limits, introspection, grantOperator, operator } = system
    const mint = (field: string): string => canaries.mint(`gRPC ${field}`)
    const money = (): auth.Amount => ({ value: mint('value'), assetCode: mint('asset code'), assetScale: 2 })
    await told(
      callUnary(introspection, 'introspect', { accessToken: mint('token'), keyId: mint('key id') }, ONCE)
    )
    await told(callUnary(limits, 'getSpentAmounts', { accessToken: mint('token') }, ONCE))
    const settlement = { settledDebitValue: mint('value'), settledReceiveValue: mint('value') }
    const ends: auth.ReservationEnd[] = [
      { paymentId: mint('payment id'), end: { $case: 'release', value: {} } },
      { paymentId: randomUUID(), end: { $case: 'settlement', value: settlement } }
    ]
    await told(callUnary(limits, 'end', { ends }, ONCE))
    for (const paymentId of [mint('payment id'), '019a9d6c-6f04-7bb5-9f8a-6a2c6a3f3f10']) {
      const reservation = {
        paymentId,
        accessToken: mint('token'),
        walletAddress: mint('wallet address'),
        receiver: mint('receiver'),
        requestHash: randomBytes(32),
        debitAmount: paymentId.startsWith('019') ? { value: '1', assetCode: 'USD', assetScale: 2 } : money(),
        receiveAmount: { value: '1', assetCode: mint('asset code').slice(0, 30), assetScale: 2 }
      }
      await told(callUnary(limits, 'reserve', { reservations: [reservation] }, ONCE))
    }
    const grants = { walletAddress: mint('wallet address'), pageToken: mint('page token') }
    await told(callUnary(grantOperator, 'listGrants', auth.ListGrantsRequest.fromPartial(grants), ONCE))
    await told(callUnary(grantOperator, 'revokeGrant', { grantId: mint('grant id') }, ONCE))
    const named = {
      path: `/${mint('path')}`,
      publicName: `${mint('public name')}${INJECTION}`,
      accountName: 'bob'
    }
    await told(callUnary(operator, 'createWalletAddress', named, ONCE))
    await told(
      callUnary(operator, 'createWalletAddress', { ...named, publicName: mint('public name') }, ONCE)
    )
    await told(
      callUnary(operator, 'createWalletAddress', { ...named, accountName: mint('account name') }, ONCE)
    )
    const key = {
      walletAddress: `${system.resourceServerUrl}/${mint('wallet address')}`,
      kid: mint('kid'),
      x: mint('x')
    }
    await told(callUnary(operator, 'addClientKey', key, ONCE))
    await told(callUnary(operator, 'createAsset', { asset: { code: mint('asset code'), scale: 2 } }, ONCE))
    const asset = { code: 'USD', scale: 2 }
    await told(
      callUnary(operator, 'createAccount', { name: `${mint('account name')}${INJECTION}`, asset }, ONCE)
    )
    const deposit = { depositId: mint('deposit id'), accountName: mint('account name'), value: mint('value') }
    await told(callUnary(operator, 'deposit', deposit, ONCE))
    const accounts = { name: mint('account name'), pageToken: mint('page token') }
    await told(callUnary(operator, 'listAccounts', wallet.ListAccountsRequest.fromPartial(accounts), ONCE))
  })

  /** Keeps the answer to a call, or the reason for its refusal. */
  async function told(answered: Promise<unknown>): Promise<void> {
    try {
      outputs.add('gRPC answer', JSON.stringify(await answered))
    } catch (error) {
      if (!isRpcError(error)) throw error
      outputs.add('gRPC error', `${error.message} ${JSON.stringify(error)}`)
    }
  }

  it.each(WHAT_BREAKS)('is sent while this does not answer: the %s', async (name) => {
    await whileBroken(
      () => proxies.get(name)?.refuse(),
      () => proxies.get(name)?.restore()
    )
  })

  // PostgreSQL's error detail contains the whole refused row.
  it.each(['authDatabase', 'resourceDatabase'] as const)(
    'is sent while no table takes a row: %s',
    async (name) => {
      await whileBroken(
        () =>
          onEachTable(name, (table) => `alter table ${table} add constraint trap check (false) not valid`),
        () => onEachTable(name, (table) => `alter table ${table} drop constraint trap`)
      )
    }
  )

  it.each(['authDatabase', 'resourceDatabase'] as const)(
    'is sent while there are no tables: %s',
    async (name) => {
      const schema = (from: string, to: string) => () =>
        system[name].query(`alter schema ${from} rename to ${to}`)
      await whileBroken(schema('public', 'gone'), schema('gone', 'public'))
    }
  )

  async function onEachTable(
    name: 'authDatabase' | 'resourceDatabase',
    statementOf: (table: string) => string
  ): Promise<void> {
    const tables = await system[name].query<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
    )
    for (const table of tables) await system[name].query(statementOf(table.name))
  }

  /**
   * Sends one request of every kind while something is broken. The answers are tested elsewhere; here only the outputs of the
   * services count.
   */
  async function whileBroken(breakIt: () => unknown, mendIt: () => unknown): Promise<void> {
    const requests: (() => Promise<string>)[] = []
    for (const kind of requestKinds()) requests.push(await kind.prepare(groundwork))
    await allSettled(system)
    await breakIt()
    await poison.during(async () => {
      const answered = Promise.allSettled(requests.map((request) => request()))
      underWay.push(answered)
      await Promise.race([answered, delay(PATIENCE_MS)])
    })
    await mendIt()
    await eventually('the services answer again', async () => {
      const { payToken: accessToken } = groundwork
      const url = `${system.resourceServerUrl}/outgoing-payment-grant`
      return (await system.shop.request('GET', url, { accessToken })).status === 200
    })
  }

  it('is in the settings of services that cannot start', async () => {
    const [authServer] = system.authServers
    const [resourceServer] = system.resourceServers
    const url = (place: string): string =>
      `postgresql://user:${canaries.mint('password of a database')}@${place}/db`
    const redisUrl = `redis://:${canaries.mint('password of Redis')}@127.0.0.1:port`
    const wrong: [service: ServiceName, plan: { settings: Settings } | undefined, wrong: Settings][] = [
      ['auth-server', authServer, { DATABASE_URL: url('127.0.0.1:1') }],
      ['resource-server', resourceServer, { DATABASE_URL: url('%zz') }],
      ['resource-server', resourceServer, { DATABASE_URL: url('['), REDIS_URL: redisUrl }],
      // As if someone had mixed up the two settings.
      ['auth-server', authServer, { DATABASE_URL_FILE: url('127.0.0.1:1') }]
    ]
    for (const [service, plan, settings] of wrong) {
      const others = Object.entries(plan?.settings ?? {}).filter(([name]) => name !== 'DATABASE_URL')
      const output = await failToMigrate(service, { ...Object.fromEntries(others), ...settings })
      outputs.add(`failed start of ${service}`, output)
    }
  })

  /** Has a service migrate its database, which fails. Returns its output. */
  async function failToMigrate(service: ServiceName, settings: Settings): Promise<string> {
    const { end, output } = await runMigration({ service, settings: { ...settings, LOG_LEVEL: 'trace' } })
    expect({ end, output }).toEqual({ end: 'exit 1', output: expect.stringMatching(/\w/) })
    return output
  }

  async function scrape(service: ServiceName): Promise<void> {
    const [running] = service === 'auth-server' ? system.runningAuthServers : system.runningResourceServers
    await outputs.addMetrics(service, running?.metricsPort)
  }

  it('is nowhere else', async () => {
    await Promise.all(underWay)
    await allSettled(system)
    await scrape('auth-server')
    await scrape('resource-server')
    await telemetry.flush()
    expect(collector.received.length).toBeGreaterThan(0)
    for (const body of collector.received) outputs.add('traces', body)
    await outputs.addDatabase('auth-server', system.authDatabase)
    await outputs.addDatabase('resource-server', system.resourceDatabase)
    if (REDIS_URL !== undefined) await outputs.addRedis(REDIS_URL)
    releaseStreams()
    expect(canaries.find(outputs.all, ALLOWED)).toEqual([])
    // The search finds what is there, and every exception is needed.
    const everywhere = canaries.find(outputs.all, [])
    const unneeded = ALLOWED.filter(
      (one) => !everywhere.some(({ canary, place }) => one.canary.test(canary) && one.place.test(place))
    )
    expect(unneeded).toEqual([])
  })

  it('never splits or forges a log line', () => {
    expect(outputs.logLines.length).toBeGreaterThan(0)
    for (const line of outputs.logLines) {
      // One line, without anything that a terminal interprets.
      expect(line).toMatch(/^[^\p{Cc}]*\n$/u)
      expect(JSON.parse(line)).toEqual(
        expect.objectContaining({
          level: expect.any(Number),
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          service: expect.stringMatching(/^(auth|resource)-server$/),
          msg: expect.not.stringMatching(/^injected/)
        })
      )
    }
  })
})

describe('a search for canaries', () => {
  const canaries = new Canaries()
  const minted = canaries.mint('ours')
  const issued = 'vJx2Zk-0_aQb9cVt3LmNpRsYwE1dHgF5uKoI7iTzXy4'
  canaries.watch('theirs', issued)
  const found = (text: string): unknown[] =>
    canaries.find([{ place: 'somewhere', text }], []).map(({ canary }) => canary)

  it.each([
    ['as they are', (value: string) => `<${value}>`],
    ['in base64', (value: string) => Buffer.from(value).toString('base64')],
    ['in base64 after one byte', (value: string) => Buffer.from(`:${value}:`).toString('base64')],
    ['in base64url after two', (value: string) => Buffer.from(`a:${value}:b`).toString('base64url')],
    ['in hexadecimal', (value: string) => Buffer.from(value).toString('hex')],
    ['in capital hexadecimal', (value: string) => Buffer.from(value).toString('hex').toUpperCase()],
    ['in JSON in JSON', (value: string) => JSON.stringify(JSON.stringify({ value }))],
    ['in a query', (value: string) => new URLSearchParams({ value }).toString()]
  ])('finds them %s', (_name, encode) => {
    expect(found(`before ${encode(minted)} after`)).toHaveLength(1)
    expect(found(`before ${encode(issued)} after`)).toEqual(['theirs'])
  })

  it('finds the decoded bytes of a token, and has no false positives', () => {
    expect(found(`\\x${Buffer.from(issued, 'base64url').toString('hex')}`)).toEqual(['theirs'])
    expect(found('a log line about a canary')).toEqual([])
  })
})
