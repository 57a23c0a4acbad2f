import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  amount,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay,
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
import { createLogger } from '@open-payments-server/runtime'
import { RunningTestClock } from '@open-payments-server/testing'
import { ARCHIVE_TIMEOUT_SECONDS, ArchivingPostgres } from '../src/archiving-postgres.js'

const PAYERS = 4
/** The most that each grant allows to be debited, ever. */
const LIMIT = 100_000n
const LOAD_MS = Number(process.env.RECOVERY_TEST_LOAD_MS ?? 4_000)
const TIMEOUT_MS = 300_000
const HEALING_MS = 60_000

/** A grant, with the receiver that is paid under it. */
interface Payer {
  readonly token: string
  readonly receiver: string
}

/** A payment that was answered with 201. */
interface Answered {
  readonly id: string
  readonly payer: Payer
  readonly atMs: number
}

/** How long it took until clients could pay again, in milliseconds, from when recovering began. */
interface Timing {
  readonly databasesMs: number
  readonly servicesMs: number
  readonly auditedMs: number
}

const authPostgres = await ArchivingPostgres.start()
const resourcePostgres = await ArchivingPostgres.start()
if (authPostgres === undefined) console.log('skipped: PostgreSQL 15 of Debian is not installed')
const describeTrial = authPostgres === undefined ? describe.skip : describe

/** Number of violations: of each invariant only the first are told, and how many more there are. */
function countTold(violations: readonly string[]): number {
  return violations.reduce((sum, told) => sum + Number(/^and (\d+) more$/.exec(told)?.[1] ?? 1), 0)
}

describeTrial('both databases, lost under load and recovered from backups and archives', () => {
  // The suite is skipped without them.
  const [authServer, resourceServer] = [
    authPostgres as ArchivingPostgres,
    resourcePostgres as ArchivingPostgres
  ]
  const running: (RunningAuthServer | RunningResourceServer)[] = []
  const answered: Answered[] = []
  const moments = { first: new Date(0), second: new Date(0), disaster: new Date(0) }
  /** Payments that the log names as answered and lost. */
  const logged: string[] = []
  let system: System
  let early: readonly Payer[]
  /** Its grant was made after the first moment. */
  let late: Payer

  beforeAll(async () => {
    system = await startSystem({
      postgresUrl: authServer.url,
      resourcePostgresUrl: resourceServer.url,
      clock: new RunningTestClock(),
      loggerOf: (service) => createLogger({ service, level: 'error', destination: { write: readLine } }),
      resource: { SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1', PROCESSING_POLL_SECONDS: '1' }
    })
    const payers: Payer[] = []
    for (let count = 0; count < PAYERS; count += 1) payers.push(await createPayer())
    early = payers
    // Consenting moved the clock of the services ahead of that of the databases.
    system.clock.set(Date.now())
    const backupMs = await Promise.all([authServer.takeBaseBackup(), resourceServer.takeBaseBackup()])
    console.log({ baseBackupsMs: backupMs.map(Math.round) })
    const load = startLoad(early)
    await delay(LOAD_MS)
    moments.first = new Date()
    late = await createPayer()
    load.add(late)
    await delay(LOAD_MS)
    moments.second = new Date()
    // The archive must reach beyond the second moment.
    await delay(LOAD_MS + 2 * ARCHIVE_TIMEOUT_SECONDS * 1_000)
    moments.disaster = new Date()
    await Promise.all([authServer.lose(), resourceServer.lose()])
    await load.ended
    // The processes stay until the first recovery: they remember what they answered lately.
    running.push(...system.runningAuthServers, ...system.runningResourceServers)
    console.log(`${String(answered.length)} payments were answered before both databases were lost`)
  }, TIMEOUT_MS)
  afterEach(async () => {
    for (const service of running.splice(0).reverse()) await service.stop()
  })
  afterAll(async () => {
    system.close()
    await authServer.stop()
    await resourceServer.stop()
  })

  function readLine(line: string): void {
    const { msg, paymentIds } = JSON.parse(line) as { msg: string; paymentIds?: string[] }
    if (msg === 'payments are lost that clients were told of') logged.push(...(paymentIds ?? []))
  }

  async function createPayer(): Promise<Payer> {
    const { shop } = system
    const { url } = await createReceiver(system, shop)
    const access = outgoingAccess(system, { debitAmount: amount(LIMIT) })
    return { receiver: url, token: (await consentedToken(system, shop, [access])).token }
  }

  /** Makes payments of one unit under each grant, one at a time, until one is not answered with 201. */
  function startLoad(payers: readonly Payer[]): {
    add(payer: Payer): void
    readonly ended: Promise<unknown>
  } {
    const payUntilLost = async (payer: Payer): Promise<void> => {
      for (;;) {
        const [result] = await Promise.allSettled([pay(system, system.shop, payer.token, payer.receiver, 1n)])
        const answer = result.status === 'fulfilled' ? result.value : undefined
        if (answer?.status !== 201) {
          // A service that does not know whether a payment was made does not answer.
          if (moments.disaster.getTime() > 0) return
          // Nothing was made: too much was under way.
          if (answer?.status === 503) continue
          throw new Error(`answered ${String(answer?.status)}: ${String(answer?.text)}`)
        }
        answered.push({ id: answer.textAt('id').slice(-36), payer, atMs: Date.now() })
      }
    }
    const all = payers.map(payUntilLost)
    return {
      add: (payer) => void all.push(payUntilLost(payer)),
      get ended() {
        return Promise.all(all)
      }
    }
  }

  /** Recovers both databases, each to a moment or to the end of its archive, and starts both services unless they run. Nobody uses them yet. */
  async function recover(until: {
    auth?: Date
    resource?: Date
  }): Promise<{ violations: string[]; timing: Timing }> {
    const beganAtMs = performance.now()
    const recovered = await Promise.all([
      authServer.recover(until.auth),
      resourceServer.recover(until.resource)
    ])
    const databasesMs = Math.round(performance.now() - beganAtMs)
    if (running.length === 0) await startServices()
    const servicesMs = Math.round(performance.now() - beganAtMs)
    const violations = await auditFirst()
    const timing = { databasesMs, servicesMs, auditedMs: Math.round(performance.now() - beganAtMs) }
    console.log({
      ...timing,
      recovered: recovered.map(({ bytes, segmentCount }) => ({ bytes, segmentCount }))
    })
    return { violations, timing }
  }

  async function startServices(): Promise<void> {
    const dependencies = {
      clock: system.clock,
      logger: createLogger({ service: 'recovered', level: 'silent' })
    }
    for (const { settings } of system.authServers)
      running.push(await composeAuthServer(loadAuthServerConfig(settings), dependencies))
    for (const { settings } of system.resourceServers)
      running.push(await composeResourceServer(loadResourceServerConfig(settings), dependencies))
  }

  /** Audits as soon as the services answer. */
  async function auditFirst(): Promise<string[]> {
    let violations: string[] | undefined
    await eventually(
      'the services answer again',
      async () => (violations = await audit().catch(() => undefined)) !== undefined,
      HEALING_MS
    )
    return violations ?? []
  }

  /** `audit` */
  async function audit(): Promise<string[]> {
    const { status, items, stderr } = await runOperatorCli(system, ['audit'])
    if (status > 1) throw new Error(stderr)
    const checks = items[0]?.checks as readonly { readonly violations: readonly string[] }[]
    return checks.flatMap(({ violations }) => violations)
  }

  /** `lost-payment list`: the ids that it names. */
  async function listLost(): Promise<string[]> {
    const { status, stdout, stderr } = await runOperatorCli(system, [
      'lost-payment',
      'list',
      '--limit',
      '100000'
    ])
    if (status !== 0) throw new Error(stderr)
    return (JSON.parse(stdout) as readonly { readonly id: string }[]).map(({ id }) => id)
  }

  /** `lost-payment give-up --all`: the number of payments that it gave up. */
  async function giveUpLost(): Promise<number> {
    const { status, items, stderr } = await runOperatorCli(system, ['lost-payment', 'give-up', '--all'])
    if (status !== 0) throw new Error(stderr)
    await whenToldAll()
    return (items[0]?.givenUp as readonly string[]).length
  }

  /** `reservation restore`. */
  async function restoreReservations(): Promise<{
    status: number
    restored: number
    outcomes: number
    refused: { id: string; reason: string }[]
  }> {
    const { status, items } = await runOperatorCli(system, ['reservation', 'restore'])
    const { restored, outcomes, refusedPayments } = items[0] ?? {}
    await whenToldAll()
    return {
      status,
      restored: Number(restored),
      outcomes: Number(outcomes),
      refused: refusedPayments as { id: string; reason: string }[]
    }
  }

  /** Waits until no payment is pending, and the auth server was told of each outcome that it can be told of. */
  async function whenToldAll(): Promise<void> {
    await eventually(
      'everything was told',
      async () => {
        const [row] = await system.resourceDatabase.query<{ open: string }>(
          `select (select count(*) from outgoing_payment where state = 'pending')
                + (select count(*) from grant_reservation where outcome is not null and delivered_at is null
                     and next_attempt_at < now() + interval '10 minutes') as open`
        )
        return row?.open === '0'
      },
      HEALING_MS
    )
  }

  /** Answered payments that the resource server does not have. */
  async function findMissing(): Promise<Answered[]> {
    const rows = await system.resourceDatabase.query<{ id: string }>('select id from outgoing_payment')
    const there = new Set(rows.map(({ id }) => id))
    return answered.filter(({ id }) => !there.has(id))
  }

  /** What all grants together have spent: as the auth server counts, and as the ledger moved. */
  async function spent(): Promise<{ counted: number; moved: number }> {
    const [counted] = await system.authDatabase.query<{ sum: string }>(
      'select coalesce(sum(spent_debit_value), 0) as sum from limit_window'
    )
    const [moved] = await system.resourceDatabase.query<{ sum: string }>(
      `select coalesce(sum(case state when 'pending' then debit_value else settled_debit_value end), 0) as sum
         from outgoing_payment`
    )
    return { counted: Number(counted?.sum), moved: Number(moved?.sum) }
  }

  /** Spends all that a grant still allows, and tries one unit more. Returns what was paid under it altogether. */
  async function exhaust({ token, receiver }: Payer): Promise<bigint> {
    const answer = await system.shop.request('GET', `${system.resourceServerUrl}/outgoing-payment-grant`, {
      accessToken: token
    })
    const left = LIMIT - BigInt(answer.textAt('spentDebitAmount.value'))
    expect((await pay(system, system.shop, token, receiver, left + 1n)).status).toBe(403)
    expect((await pay(system, system.shop, token, receiver, left)).status).toBe(201)
    expect((await pay(system, system.shop, token, receiver, 1n)).status).toBe(403)
    await whenToldAll()
    const [row] = await system.resourceDatabase.query<{ sum: string }>(
      'select sum(settled_debit_value) as sum from outgoing_payment where receiver = $1',
      [receiver]
    )
    return BigInt(row?.sum ?? 0)
  }

  it(
    'both to the end of their archives: what was not archived is lost, and nothing is spent twice',
    async () => {
      const { violations } = await recover({})
      const missing = await findMissing()
      await eventually(
        'the log names them',
        () => Promise.resolve(logged.length >= missing.length),
        HEALING_MS
      )
      expect(logged.sort()).toEqual(missing.map(({ id }) => id).sort())
      const found = { violations: countTold(violations), missing: missing.length, ...(await spent()) }
      const restored = await restoreReservations()
      const lost = await listLost()
      const named = missing.filter(({ id }) => lost.includes(id)).length
      const oldestMs = Math.min(moments.disaster.getTime(), ...missing.map(({ atMs }) => atMs))
      console.log('both to the end', { ...found, restored, lost: lost.length, named })
      console.log(
        `the oldest that is missing was answered ${String(moments.disaster.getTime() - oldestMs)} ms before`
      )
      // The two archives end at different moments.
      expect(missing.length + restored.restored).toBeGreaterThan(0)
      expect(restored).toMatchObject({ status: 0, refused: [] })
      expect(await giveUpLost()).toBe(lost.length)
      expect(await audit()).toEqual([])
      for (const payer of early) expect(await exhaust(payer)).toBeLessThanOrEqual(LIMIT)
      expect(await audit()).toEqual([])
    },
    TIMEOUT_MS
  )

  it(
    'both to the same moment: the two agree, and nothing names what was paid since',
    async () => {
      const { violations } = await recover({ auth: moments.second, resource: moments.second })
      const missing = await findMissing()
      const lost = await listLost()
      const named = missing.filter(({ id }) => lost.includes(id)).length
      const amounts = await spent()
      console.log('both to one moment', {
        violations,
        missing: missing.length,
        lost: lost.length,
        named,
        ...amounts
      })
      const since = answered.filter(({ atMs }) => atMs > moments.second.getTime())
      expect(missing.length).toBeGreaterThan(0)
      expect(missing.every((one) => since.includes(one))).toBe(true)
      // Requests that were under way then.
      expect(violations.every((violation) => / is lost here$/.test(violation))).toBe(true)
      expect(lost.length).toBeLessThanOrEqual(PAYERS + 1)
      expect(await restoreReservations()).toEqual({ status: 0, restored: 0, outcomes: 0, refused: [] })
      expect(await giveUpLost()).toBe(lost.length)
      expect(await audit()).toEqual([])
      for (const payer of [...early, late]) expect(await exhaust(payer)).toBe(LIMIT)
      expect(await audit()).toEqual([])
    },
    TIMEOUT_MS
  )

  it(
    'the auth server to an earlier moment: it is told anew of what it lost, and only grants that it lost stay uncounted',
    async () => {
      const { violations } = await recover({ auth: moments.first, resource: moments.second })
      const before = await spent()
      const ofLate = await system.resourceDatabase.query<{ id: string }>(
        'select id from outgoing_payment where receiver = $1 order by id',
        [late.receiver]
      )
      const restored = await restoreReservations()
      const lost = await listLost()
      const after = await spent()
      console.log('auth server earlier', {
        violations: countTold(violations),
        before,
        after,
        ...restored,
        refused: restored.refused.length,
        lost: lost.length
      })
      expect(before.counted).toBeLessThan(before.moved)
      expect(restored.restored).toBeGreaterThan(0)
      expect(restored.status).toBe(1)
      expect(restored.refused.map(({ id, reason }) => `${id} ${reason}`).sort()).toEqual(
        ofLate.map(({ id }) => `${id} The grant is unknown`)
      )
      expect(after).toEqual({ counted: before.moved - ofLate.length, moved: before.moved })
      await giveUpLost()
      const left = await audit()
      expect(countTold(left)).toBe(ofLate.length)
      const ofOthers = left.filter(
        (violation) =>
          !/^and \d+ more$/.test(violation) &&
          !(
            violation.includes('at the auth server nothing') &&
            ofLate.some(({ id }) => violation.includes(id))
          )
      )
      expect(ofOthers).toEqual([])
      // Nothing can be spent under the lost grant: its token is unknown.
      expect((await pay(system, system.shop, late.token, late.receiver, 1n)).status).toBe(401)
      for (const payer of early) expect(await exhaust(payer)).toBe(LIMIT)
      expect(await audit()).toEqual(left)
      // Again, with nothing to tell.
      expect(await restoreReservations()).toMatchObject({ status: 1, restored: 0, outcomes: 0 })
      // An operator takes note of them.
      const accepting = ['reservation', 'accept', '--all', '--reason', 'the grant was lost']
      const { status, items } = await runOperatorCli(system, accepting)
      expect(status).toBe(0)
      expect([...(items[0]?.accepted as string[])].sort()).toEqual(ofLate.map(({ id }) => id))
      expect(await audit()).toEqual([])
      expect(await restoreReservations()).toEqual({ status: 0, restored: 0, outcomes: 0, refused: [] })
    },
    TIMEOUT_MS
  )

  it(
    'the resource server to an earlier moment: what it lost is named, and stays counted until an operator gives it up',
    async () => {
      const { violations } = await recover({ auth: moments.second, resource: moments.first })
      const missing = await findMissing()
      const reserved = missing.filter(({ atMs }) => atMs < moments.second.getTime())
      const lost = new Set(await listLost())
      const before = await spent()
      expect(reserved.length).toBeGreaterThan(0)
      expect(reserved.filter(({ id }) => !lost.has(id))).toEqual([])
      expect(before.counted).toBeGreaterThan(before.moved)
      expect(violations.filter((told) => !/ is lost here$|^and \d+ more$/.test(told))).toEqual([])
      expect(countTold(violations)).toBe(lost.size)
      const restored = await restoreReservations()
      const givenUp = await giveUpLost()
      const after = await spent()
      console.log('resource server earlier', {
        missing: missing.length,
        reserved: reserved.length,
        violations: countTold(violations),
        before,
        restored,
        givenUp,
        after
      })
      expect(restored).toMatchObject({ status: 0, restored: 0, refused: [] })
      expect(givenUp).toBe(lost.size)
      expect(await audit()).toEqual([])
      // What is paid under the later grant is gone with its incoming payment.
      for (const payer of early) expect(await exhaust(payer)).toBeLessThanOrEqual(LIMIT)
      expect(await audit()).toEqual([])
    },
    TIMEOUT_MS
  )
})
