import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPool, isUnavailable } from '@open-payments-server/database'
import {
  isRedisInstalled,
  type LocalRedisCluster,
  type RedisProcess,
  type RedisSentinels,
  startRedisCluster,
  startRedisSentinels
} from '@open-payments-server/local-services'
import {
  createTestAuthority,
  type TestAuthority,
  type TestCertificate,
  type TestTlsFolder,
  writeTlsFiles
} from '@open-payments-server/testing/certificates'
import type { ConnectedSystem } from '../src/connect-system.js'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { Front } from '../src/front.js'
import { PATIENT } from '../src/patience.js'
import { allSettled, createReceiver, eventually, pay } from '../src/payments.js'
import { peerSystems } from '../src/peering.js'
import type { PlanOptions } from '../src/plan-system.js'
import { type ProcessSystem, QUICK, startProcessSystem } from '../src/process-system.js'
import { whenEnded } from '../src/providers/crossing.js'
import { directionsOf, DOLLARS } from '../src/providers/provider-pair.js'
import { OPENING_BALANCE } from '../src/system.js'
import { TlsPostgres } from '../src/tls-postgres.js'
import { amountOf, Correspondence } from '../src/wallets.js'

const HERE = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
const ELSEWHERE = { dnsNames: ['database.elsewhere.test'], ipAddresses: ['192.0.2.1'] }
const START_TIMEOUT_MS = 120_000

let authority: TestAuthority
/** What the servers show, and whom to trust. */
let ours: TestTlsFolder
/** The same of somebody else. */
let elsewhere: TestTlsFolder
let postgres: TlsPostgres

beforeAll(async () => {
  authority = await createTestAuthority('ours')
  const certificate = await authority.issue(HERE)
  ours = await writeTlsFiles(certificate, authority.certificate)
  elsewhere = await writeTlsFiles(await authority.issue(ELSEWHERE), authority.certificate)
  postgres = await TlsPostgres.start(certificate)
}, START_TIMEOUT_MS)
afterAll(async () => {
  await postgres.stop()
  await Promise.all([ours.remove(), elsewhere.remove()])
})

/** Asks the database whether the connection is over TLS, and whether it leads to a standby. */
async function askDatabase(url: string): Promise<unknown> {
  const pool = createPool({
    url,
    connectionsMax: 1,
    applicationName: 'test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 5_000
  })
  try {
    const { rows } = await pool.query<{ ssl: boolean; standby: boolean }>(
      'select ssl, pg_is_in_recovery() as standby from pg_stat_ssl where pid = pg_backend_pid()'
    )
    return rows[0]
  } finally {
    await pool.end()
  }
}

describe('a database with a certificate of an authority that is named in its URL', () => {
  it.each([
    ['of its name', 'localhost'],
    ['of its address', '127.0.0.1']
  ])('is reached over TLS by its certificate %s, alone and as one of two hosts', async (_of, host) => {
    const url = postgres.url(host, ours.files.authority)
    expect(await askDatabase(url)).toEqual({ ssl: true, standby: false })
    expect(await askDatabase(postgres.onBoth(url))).toEqual({ ssl: true, standby: false })
  })

  it.each<[string, string, () => Promise<TestCertificate | undefined>]>([
    [
      'of another authority with the same name',
      'CERT_SIGNATURE_FAILURE',
      async () => (await createTestAuthority('ours')).issue(HERE)
    ],
    ['of another server', 'ERR_TLS_CERT_ALTNAME_INVALID', () => authority.issue(ELSEWHERE)],
    [
      'that has expired',
      'CERT_HAS_EXPIRED',
      () => authority.issue({ ...HERE, notAfter: new Date(Date.now() - 1_000) })
    ],
    ['in plain text only', 'The server does not support SSL connections', () => Promise.resolve(undefined)]
  ])('is not used with one %s, and counts as away meanwhile', async (_what, reason, certificate) => {
    await postgres.show(await certificate())
    try {
      for (const host of ['localhost', '127.0.0.1']) {
        const url = postgres.url(host, ours.files.authority)
        const failure: unknown = await askDatabase(url).catch((error: unknown) => error)
        const { code, message } = failure as { code?: string; message?: string }
        expect([code, message]).toContain(reason)
        expect(isUnavailable(failure)).toBe(true)
        const onBoth: unknown = await askDatabase(postgres.onBoth(url)).catch((error: unknown) => error)
        expect(onBoth).toMatchObject({ message: 'no host of the database is the primary' })
        expect(isUnavailable(onBoth)).toBe(true)
      }
    } finally {
      await postgres.show(await authority.issue(HERE))
    }
  })

  it('is used with one of a new authority as soon as its file is there', async () => {
    const next = await createTestAuthority('next')
    const both = await writeTlsFiles(await authority.issue(HERE), authority.certificate)
    const url = postgres.url('localhost', both.files.authority)
    const pool = createPool({
      url,
      connectionsMax: 2,
      applicationName: 'test',
      statementTimeoutMs: 5_000,
      connectTimeoutMs: 5_000
    })
    const first = await pool.connect()
    try {
      await postgres.show(await next.issue(HERE))
      await expect(pool.query('select 1')).rejects.toThrow()
      await both.replace(await authority.issue(HERE), `${authority.certificate}\n${next.certificate}`)
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    } finally {
      first.release()
      await pool.end()
      await both.remove()
      await postgres.show(await authority.issue(HERE))
    }
  })
})

const hasRedis = await isRedisInstalled()
const describeWithRedis = hasRedis ? describe : describe.skip
const withRedis = hasRedis ? 'found' : 'no redis-server on the PATH'

describeWithRedis(`Redis with certificates of an authority that Node was told of (${withRedis})`, () => {
  let sentinels: RedisSentinels
  let cluster: LocalRedisCluster

  beforeAll(async () => {
    const tls = ours.files
    const passwords = { password: randomUUID(), sentinelPassword: randomUUID() }
    sentinels = await startRedisSentinels({ ...passwords, tls })
    cluster = await startRedisCluster({ tls })
  }, START_TIMEOUT_MS)
  afterAll(async () => {
    await Promise.all([sentinels.stop(), cluster.stop()])
  })

  /** One server, by its name, and by its address what others name. */
  const PLACES: [string, () => object, () => readonly RedisProcess[]][] = [
    [
      'one server',
      () => {
        const { password } = new URL(sentinels.urls[0])
        const url = `rediss://:${password}@localhost:${String(sentinels.servers[0]?.port)}`
        return { topology: 'single', urls: [url] }
      },
      () => sentinels.servers
    ],
    [
      'what sentinels watch',
      () => {
        const sentinel = { name: sentinels.name, password: sentinels.sentinelPassword }
        return { topology: 'sentinel', urls: sentinels.urls, sentinel }
      },
      () => sentinels.servers
    ],
    ['a cluster', () => ({ topology: 'cluster', urls: cluster.urls }), () => cluster.nodes]
  ]

  async function useStore(place: object, authorities?: string): Promise<unknown> {
    const script = fileURLToPath(new URL('use-shared-store.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(place)], {
      env: {
        PATH: process.env.PATH,
        ...(authorities === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorities })
      },
      timeout: 60_000
    })
    return JSON.parse(stdout)
  }

  it.each(PLACES)('is used as %s, and not without that', async (_what, place) => {
    expect(await useStore(place(), ours.files.authority)).toEqual({ again: false, received: 'hello' })
    const { refused } = (await useStore(place())) as { refused: string[] }
    expect(refused).toContain('SELF_SIGNED_CERT_IN_CHAIN')
  })

  it.each(PLACES)('is not used as %s with those of other servers', async (_what, place, servers) => {
    const show = async ({ files: { certificate, key } }: TestTlsFolder) => {
      for (const server of servers()) {
        const answer = await server.ask('CONFIG', 'SET', 'tls-cert-file', certificate, 'tls-key-file', key)
        expect(answer).toContain('+OK')
      }
    }
    await show(elsewhere)
    try {
      const { refused } = (await useStore(place(), ours.files.authority)) as { refused: string[] }
      expect(refused).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
    } finally {
      await show(ours)
    }
  })

  it('both services pay, with sentinels and a database on two hosts', async () => {
    const settings = {
      NODE_EXTRA_CA_CERTS: ours.files.authority,
      REDIS_URL: sentinels.url,
      REDIS_TOPOLOGY: 'sentinel',
      REDIS_SENTINEL_NAME: sentinels.name,
      REDIS_SENTINEL_PASSWORD: sentinels.sentinelPassword ?? ''
    }
    const detour = (url: string) => Promise.resolve(postgres.onBoth(url))
    const system = await startProcessSystem({
      auth: { ...QUICK.auth, ...settings },
      resource: { ...QUICK.resource, ...settings },
      postgresUrl: postgres.url('127.0.0.1', ours.files.authority),
      detours: { authDatabase: detour, resourceDatabase: detour }
    })
    try {
      const receiver = await createReceiver(system, system.shop)
      const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
      expect((await pay(system, system.shop, token, receiver.url, 500n)).status).toBe(201)
      await allSettled(system)
      expect(await system.balance('alice')).toBe(OPENING_BALANCE - 500n)
      expect(await system.audit()).toEqual([])
      for (const [database, name] of [
        [system.authDatabase, 'auth-server'],
        [system.resourceDatabase, 'resource-server']
      ] as const) {
        const used = await database.query(
          `select distinct ssl from pg_stat_activity natural join pg_stat_ssl
            where application_name = $1 and datname = current_database()`,
          [name]
        )
        expect(used).toEqual([{ ssl: true }])
      }
    } finally {
      await system.stop()
    }
  })
})

describe('two providers with certificates of an authority that Node was told of', () => {
  const started: { stop(): Promise<void> }[] = []
  /** What ends TLS in front of a system. */
  const fronts = new Map<ConnectedSystem, Record<'auth' | 'resource' | 'packets', Front>>()
  let one: ProcessSystem
  let another: ProcessSystem

  beforeAll(async () => {
    one = await startSecure()
    another = await startSecure()
    const endpoints = new Map([...fronts].map(([{ peering }, { packets }]) => [peering, `${packets.url}/`]))
    await peerSystems(one, another, { endpointOf: ({ peering }) => endpoints.get(peering) ?? '' })
  }, START_TIMEOUT_MS)
  afterAll(async () => {
    for (const each of started.toReversed()) await each.stop()
  })

  async function startSystemWith(
    authorities: Record<string, string>,
    urls?: PlanOptions['secureUrls']
  ): Promise<ProcessSystem> {
    const system = await startProcessSystem({
      auth: { ...QUICK.auth, ...authorities },
      resource: { ...QUICK.resource, ...PATIENT, ...authorities },
      ...(urls === undefined ? {} : { secureUrls: urls })
    })
    started.push(system)
    return system
  }

  /** Starts one that others reach by `https://localhost` only, packets of peers included. */
  async function startSecure(): Promise<ProcessSystem> {
    const startFront = async (): Promise<Front> => {
      const front = await Front.start(await authority.issue(HERE))
      started.push(front)
      return front
    }
    const front = { auth: await startFront(), resource: await startFront(), packets: await startFront() }
    const urls = { auth: `${front.auth.url}/`, resource: front.resource.url }
    const system = await startSystemWith({ NODE_EXTRA_CA_CERTS: ours.files.authority }, urls)
    const [authServer, resourceServer] = [system.authServers[0], system.resourceServers[0]]
    front.auth.route('/', `http://localhost:${String(authServer?.httpPort)}`)
    front.resource.route('/', `http://localhost:${String(resourceServer?.httpPort)}`)
    front.packets.route('/', system.peering.ilpEndpoint)
    fronts.set(system, front)
    return system
  }

  /** From alice to bob at the other provider, in dollars. */
  function openCorrespondence(sender: ConnectedSystem, receiver: ConnectedSystem): Promise<Correspondence> {
    const walletOf = (system: ConnectedSystem, name: 'alice' | 'bob') => ({
      ...{ name, asset: DOLLARS, walletAddress: system.walletAddresses[name] }
    })
    return Correspondence.open(sender, sender.shop, {
      from: walletOf(sender, 'alice'),
      to: walletOf(receiver, 'bob'),
      payee: { system: receiver, client: receiver.shop }
    })
  }

  it('pay each other: documents, grants and packets are over TLS', async () => {
    for (const { sender, receiver } of directionsOf({ one, another })) {
      const by = await openCorrespondence(sender, receiver)
      const url = await by.createReceiver()
      expect(url).toMatch(/^https:\/\/localhost:/)
      const paid = await whenEnded(by, await by.pay(url, amountOf(by.from, 500n)))
      expect(paid.body).toMatchObject({ failed: false, sentAmount: amountOf(by.from, 500n) })
    }
    for (const system of [one, another]) {
      expect(await system.balance('alice')).toBe(OPENING_BALANCE - 500n)
      expect(await system.balance('bob')).toBe(500n)
      expect(await system.audit()).toEqual([])
    }
  })

  /** Expects that what another provider shows is not believed, for a reason that the log has. */
  async function expectNoQuote(sender: ProcessSystem, by: Correspondence, reason: string): Promise<void> {
    const url = await by.createReceiver()
    const answers: number[] = []
    await eventually(`the log has ${reason}`, async () => {
      answers.push((await by.quote(url, { debitAmount: amountOf(by.from, 500n) })).status)
      return sender.output().includes(reason)
    })
    expect(new Set(answers)).toEqual(new Set([503]))
  }

  it('are not paid by one that was not told of it', async () => {
    const stranger = await startSystemWith({})
    const by = await openCorrespondence(stranger, another)
    await expectNoQuote(stranger, by, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  it('do not pay where somebody shows a certificate of another server', async () => {
    const by = await openCorrespondence(one, another)
    const front = fronts.get(another)?.resource
    front?.show(await authority.issue(ELSEWHERE))
    await expectNoQuote(one, by, 'ERR_TLS_CERT_ALTNAME_INVALID')
    front?.show(await authority.issue(HERE))
    const quoted = await by.quote(await by.createReceiver(), { debitAmount: amountOf(by.from, 500n) })
    expect(quoted.status).toBe(201)
  })
})
