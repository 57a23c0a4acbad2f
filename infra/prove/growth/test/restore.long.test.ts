import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  allSettled,
  amount,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay,
  PEER_NAME,
  peerSystems,
  requestToken,
  runOperatorCli,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import {
  composeAuthServer,
  loadConfig as loadAuthServerConfig,
  type RunningAuthServer
} from '@open-payments-server/auth-server'
import {
  composeResourceServer,
  loadConfig as loadResourceServerConfig,
  type RunningResourceServer
} from '@open-payments-server/resource-server'
import { callUnary } from '@open-payments-server/grpc-transport'
import { createLogger } from '@open-payments-server/runtime'
import { RunningTestClock, type TestClock } from '@open-payments-server/testing'
import pg from 'pg'
import { type DebianPostgres, startDebianPostgres } from '../src/debian-postgres.js'

const PAYERS = 4
const LOAD_MS = 2_000
/** Number of payments between two dumps, on a machine that is busy. */
const PAID_MIN = 8
const TIMEOUT_MS = 180_000
const HEALING_MS = 30_000
/** Nobody decides about a packet before. */
const DECIDABLE_AFTER_SECONDS = 90

const postgres = await startDebianPostgres()
if (postgres === undefined) console.log('skipped: PostgreSQL 15 of Debian is not installed')
const describeTrial = postgres === undefined ? describe.skip : describe
afterAll(() => postgres?.stop())

describeTrial('backups of both databases, taken at different moments while payments are made', () => {
  let system: System
  let directory: string
  const pathOf = (name: string): string => join(directory, name)
  const running: (RunningAuthServer | RunningResourceServer)[] = []

  beforeAll(async () => {
    const server = postgres as DebianPostgres
    directory = await mkdtemp(join(tmpdir(), 'restore-trial-dumps-'))
    system = await startSystem({
      clock: new RunningTestClock(),
      postgresUrl: server.url,
      resource: { SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1', PROCESSING_POLL_SECONDS: '1' }
    })
    const load = startLoad(system)
    await load.more()
    await server.dump(system.resourceDatabase.url, pathOf('resource-before'))
    await load.more()
    await server.dump(system.authDatabase.url, pathOf('auth'))
    await load.more()
    await server.dump(system.resourceDatabase.url, pathOf('resource-after'))
    await load.more()
    const count = await load.stop()
    await allSettled(system)
    expect(await system.audit()).toEqual([])
    console.log(`${String(count)} payments were made`)
    for (const service of [...system.runningResourceServers, ...system.runningAuthServers])
      await service.stop()
    await passed(system.clock)
  }, TIMEOUT_MS)
  afterAll(async () => {
    system.close()
    await Promise.all([system.authDatabase.drop(), system.resourceDatabase.drop()])
    await rm(directory, { recursive: true, force: true })
  })

  afterEach(stopServices)

  /** Starts both services on restored databases, with the same settings. */
  async function startOn(urls: { auth: string; resource: string }): Promise<void> {
    const logger = createLogger({ service: 'restored', level: 'silent' })
    const dependencies = { clock: system.clock, logger }
    const [auth, resource] = [system.authServers[0], system.resourceServers[0]]
    const authSettings = { ...auth?.settings, DATABASE_URL: urls.auth }
    const resourceSettings = { ...resource?.settings, DATABASE_URL: urls.resource }
    running.push(await composeAuthServer(loadAuthServerConfig(authSettings), dependencies))
    running.push(await composeResourceServer(loadResourceServerConfig(resourceSettings), dependencies))
  }

  /** Runs the audit as soon as the services accept connections again. */
  async function audit(): Promise<string[]> {
    let violations: string[] | undefined
    await eventually(
      'the services are reached again',
      async () => {
        violations = await system.audit().catch(() => undefined)
        return violations !== undefined
      },
      HEALING_MS
    )
    return violations ?? []
  }

  async function stopServices(): Promise<void> {
    for (const service of running.splice(0).reverse()) await service.stop()
  }

  /** The amounts spent under all grants, according to each service. */
  async function spent(urls: { auth: string; resource: string }): Promise<{ counted: bigint; sent: bigint }> {
    const [counted] = await query<{ sum: string }>(
      urls.auth,
      'select coalesce(sum(spent_debit_value), 0) as sum from limit_window'
    )
    const [sent] = await query<{ sum: string }>(
      urls.resource,
      'select coalesce(sum(settled_debit_value), 0) as sum from outgoing_payment'
    )
    return { counted: BigInt(counted?.sum ?? 0), sent: BigInt(sent?.sum ?? 0) }
  }

  it(
    'the auth server of a later moment: nothing can be spent twice, what is lost is named, and is given back once it is given up',
    async () => {
      const server = postgres as DebianPostgres
      const urls = {
        auth: await server.restore(pathOf('auth'), 'later_auth'),
        resource: await server.restore(pathOf('resource-before'), 'later_resource')
      }
      await startOn(urls)
      await eventually(
        'the lost payments are named',
        async () => (await runOperatorCli(system, ['lost-payment', 'list'])).items.length > 0,
        HEALING_MS
      )
      // A sweep later, those that are open are still kept.
      await delay(LOAD_MS)
      const open = async () =>
        (await query(urls.auth, `select 1 from reservation where state = 'open'`)).length
      console.log(`${String(await open())} lost payments are open`)
      const { items } = await runOperatorCli(system, ['lost-payment', 'give-up', '--all'])
      expect(items[0]?.givenUp).not.toEqual([])
      await eventually('what is given up is released', async () => (await open()) === 0, HEALING_MS)
      const violations = await audit()
      const amounts = await spent(urls)
      console.log(tell('auth server later', violations, amounts))
      expect(amounts.counted).toBeGreaterThan(amounts.sent)
      const others = violations.filter(
        (violation) => !/here nothing, at the auth server settled|and \d+ more/.test(violation)
      )
      expect(others).toEqual([])
    },
    TIMEOUT_MS
  )

  it(
    'the auth server of an earlier moment: the reservations that it lost are recorded anew, and everything is spent once',
    async () => {
      const server = postgres as DebianPostgres
      const urls = {
        auth: await server.restore(pathOf('auth'), 'earlier_auth'),
        resource: await server.restore(pathOf('resource-after'), 'earlier_resource')
      }
      await startOn(urls)
      const before = await audit()
      console.log(tell('auth server earlier, as found', before, await spent(urls)))
      expect(before).not.toEqual([])
      // The documented step. The dump is in the cluster of its original, on the same timeline.
      const { items } = await runOperatorCli(system, ['reservation', 'restore'])
      console.log(`restored ${String(items[0]?.restored)}, told again ${String(items[0]?.outcomes)}`)
      expect(items[0]).toMatchObject({ restored: expect.not.stringMatching(/^0$/) })
      await eventually(
        'every reservation that the auth server knows of has ended',
        async () => (await query(urls.auth, `select 1 from reservation where state = 'open'`)).length === 0,
        HEALING_MS
      )
      await delay(LOAD_MS)
      const violations = await audit()
      const amounts = await spent(urls)
      console.log(tell('auth server earlier, told again', violations, amounts))
      expect(violations).toEqual([])
      expect(amounts.counted).toBe(amounts.sent)
    },
    TIMEOUT_MS
  )
})

describeTrial('a dump of a provider whose payments to another one were pending', () => {
  const clock = new RunningTestClock()
  let sender: System
  let receiver: System
  let directory: string

  beforeAll(async () => {
    const { url: postgresUrl } = postgres as DebianPostgres
    directory = await mkdtemp(join(tmpdir(), 'restore-trial-dump-'))
    sender = await startSystem({
      clock,
      postgresUrl,
      resource: { SWEEP_INTERVAL_SECONDS: '1', PROCESSING_POLL_SECONDS: '1' }
    })
    receiver = await startSystem({ clock, postgresUrl })
    await peerSystems(sender, receiver)
  }, TIMEOUT_MS)
  afterAll(async () => {
    await Promise.all([sender.stop(), receiver.stop()])
    await rm(directory, { recursive: true, force: true })
  })

  /** Sets the most that may be owed to the other one: nothing for any amount. */
  const limit = (payableLimitValue: string) =>
    callUnary(
      sender.peers,
      'updatePeer',
      { name: PEER_NAME, payableLimitValue, routes: undefined },
      { idempotent: true }
    )
  /** What an incoming payment at the other one has received. */
  const received = async (receiverUrl: string) => {
    const text = 'select received_value::text as value from incoming_payment where id = $1'
    const [row] = await receiver.resourceDatabase.query<{ value: string }>(text, [receiverUrl.slice(-36)])
    return row?.value
  }
  /** The payments of which an operator must say what arrived. */
  const waiting = async () => {
    const request = { name: PEER_NAME, pageSize: 0, pageToken: '' }
    const { packets } = await callUnary(sender.peers, 'listUnknownPackets', request, { idempotent: true })
    return packets.filter(({ standsForLost }) => standsForLost).map(({ payment }) => payment)
  }

  it(
    'sends none of them again that was sent since, nor one that it lacks and that is ordered again: each waits for an operator',
    async () => {
      const server = postgres as DebianPostgres
      const { shop } = sender
      const { token } = await consentedToken(sender, shop, [outgoingAccess(sender)])
      const walletAddress = sender.walletAddresses.alice
      const quoteAccess = { type: 'quote', actions: ['create', 'read'], identifier: walletAddress }
      const quoteToken = await requestToken(sender, shop, [quoteAccess])
      const order = async (
        receiverUrl: string,
        path: string,
        accessToken: string,
        terms: object,
        nonce: string
      ) => {
        const answer = await shop.request('POST', `${sender.resourceServerUrl}${path}`, {
          accessToken,
          headers: { 'idempotency-key': nonce },
          signature: { nonce: randomUUID() },
          body: { walletAddress, ...terms }
        })
        expect([answer.status, receiverUrl, answer.text]).toEqual([201, receiverUrl, expect.any(String)])
        return answer.textAt('id')
      }
      const [first, second] = [
        await createReceiver(receiver, receiver.shop),
        await createReceiver(receiver, receiver.shop)
      ]
      const terms = { receiver: first.url, method: 'ilp', debitAmount: amount(7) }
      const quoteId = await order(first.url, '/quotes', quoteToken, terms, randomUUID())

      // Nothing may be owed, so that it is pending in the dump.
      await limit('0')
      const pending = await order(first.url, '/outgoing-payments', token, { quoteId }, randomUUID())
      await server.dump(sender.resourceDatabase.url, join(directory, 'resource'))
      await limit('')
      const key = randomUUID()
      const orderSecond = () =>
        order(
          second.url,
          '/outgoing-payments',
          token,
          { incomingPayment: second.url, debitAmount: amount(5) },
          key
        )
      const lost = await orderSecond()
      await allSettled(sender, HEALING_MS)
      const values = async () => [await received(first.url), await received(second.url)]
      expect(await values()).toEqual(['7', '5'])

      await passed(clock)
      const restored = await server.restore(join(directory, 'resource'), 'pending_resource')
      await sender.restartResourceServers({ DATABASE_URL: restored })
      await eventually(
        'it serves again',
        () =>
          limit('').then(
            () => true,
            () => false
          ),
        HEALING_MS
      )
      expect(await orderSecond()).toBe(lost)
      const standIns = `select 1 from sent_packet where is_stand_in and outcome::text = 'unknown'`
      await eventually('both wait', async () => (await query(restored, standIns)).length === 2, HEALING_MS)
      // Some rounds of those who send what is pending.
      await delay(LOAD_MS)
      expect(await values()).toEqual(['7', '5'])
      clock.advanceSeconds(DECIDABLE_AFTER_SECONDS)
      expect((await waiting()).sort()).toEqual([pending, lost].sort())
      expect(await query(restored, `select 1 from outgoing_payment where state = 'pending'`)).toHaveLength(2)
    },
    TIMEOUT_MS
  )
})

/** Waits until the databases' clock says what that of the services says now, which each consent moves forward. */
function passed(clock: TestClock): Promise<void> {
  return delay(Math.max(0, clock.now() - Date.now()))
}

function tell(
  what: string,
  violations: readonly string[],
  amounts: { counted: bigint; sent: bigint }
): string {
  return [
    `${what}: the grants count ${String(amounts.counted)} as spent, payments sent ${String(amounts.sent)}`,
    `  ${String(violations.length)} violations are told`,
    ...violations.slice(0, 3).map((violation) => `  ${violation}`),
    ...violations.slice(-1).map((violation) => `  ${violation}`)
  ].join('\n')
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** Makes payments of one unit, one at a time for each of several payers, until it is stopped. */
function startLoad(system: System): { more(): Promise<void>; stop(): Promise<number> } {
  let isStopped = false
  let count = 0
  const payForever = async (): Promise<void> => {
    const { shop } = system
    const receiver = await createReceiver(system, shop)
    const access = outgoingAccess(system, { debitAmount: amount(1_000_000) })
    const { token } = await consentedToken(system, shop, [access])
    while (!isStopped) {
      const answer = await pay(system, shop, token, receiver.url, 1n)
      if (answer.status !== 201) throw new Error(`answered ${String(answer.status)}: ${answer.text}`)
      count += 1
    }
  }
  const payers = Promise.all(Array.from({ length: PAYERS }, payForever))
  return {
    /** Resolves after so many more that each moment has others. */
    async more() {
      const before = count
      await delay(LOAD_MS)
      await eventually('more payments are made', async () => count >= before + PAID_MIN, TIMEOUT_MS)
    },
    async stop() {
      isStopped = true
      await payers
      return count
    }
  }
}
