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
import pg from 'pg'
import { type DebianPostgres, startDebianPostgres } from '../src/debian-postgres.js'

const PAYERS = 4
const LOAD_MS = 2_000
const TIMEOUT_MS = 180_000
const HEALING_MS = 30_000

const postgres = await startDebianPostgres()
if (postgres === undefined) console.log('skipped: PostgreSQL 15 of Debian is not installed')
const describeTrial = postgres === undefined ? describe.skip : describe

describeTrial('backups of both databases, taken at different moments while payments are made', () => {
  let system: System
  let directory: string
  const pathOf = (name: string): string => join(directory, name)
  const running: (RunningAuthServer | RunningResourceServer)[] = []

  beforeAll(async () => {
    const server = postgres as DebianPostgres
    directory = await mkdtemp(join(tmpdir(), 'restore-trial-dumps-'))
    system = await startSystem({
      postgresUrl: server.url,
      resource: { SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1', PROCESSING_POLL_SECONDS: '1' }
    })
    const load = startLoad(system)
    await delay(LOAD_MS)
    await server.dump(system.resourceDatabase.url, pathOf('resource-before'))
    await delay(LOAD_MS)
    await server.dump(system.authDatabase.url, pathOf('auth'))
    await delay(LOAD_MS)
    await server.dump(system.resourceDatabase.url, pathOf('resource-after'))
    await delay(LOAD_MS)
    const count = await load.stop()
    await allSettled(system)
    expect(await system.audit()).toEqual([])
    console.log(`${String(count)} payments were made`)
    for (const service of [...system.runningResourceServers, ...system.runningAuthServers])
      await service.stop()
  }, TIMEOUT_MS)
  afterAll(async () => {
    system.close()
    await Promise.all([system.authDatabase.drop(), system.resourceDatabase.drop()])
    await postgres?.stop()
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
    'the auth server of a later moment: nothing can be spent twice, what was open is given back, and the audit names what is lost',
    async () => {
      const server = postgres as DebianPostgres
      const urls = {
        auth: await server.restore(pathOf('auth'), 'later_auth'),
        resource: await server.restore(pathOf('resource-before'), 'later_resource')
      }
      await startOn(urls)
      await eventually(
        'open reservations without a payment are released',
        async () => (await query(urls.auth, `select 1 from reservation where state = 'open'`)).length === 0,
        HEALING_MS
      )
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
    'the auth server of an earlier moment: what it knows of is told again, and the audit names the payments that it does not know',
    async () => {
      const server = postgres as DebianPostgres
      const urls = {
        auth: await server.restore(pathOf('auth'), 'earlier_auth'),
        resource: await server.restore(pathOf('resource-after'), 'earlier_resource')
      }
      await startOn(urls)
      const before = await audit()
      console.log(tell('auth server earlier, as found', before, await spent(urls)))
      // The documented step. The dump is in the same cluster, whose timeline did not change: the auth server cannot know what it lost.
      const { lines } = await runOperatorCli(system, ['reservation', 'restore'])
      console.log(lines)
      expect(lines[0]).toMatchObject({ restored: '0', outcomes: expect.not.stringMatching(/^0$/) })
      await eventually(
        'every reservation that the auth server knows of has ended',
        async () => (await query(urls.auth, `select 1 from reservation where state = 'open'`)).length === 0,
        HEALING_MS
      )
      await delay(LOAD_MS)
      const violations = await audit()
      const amounts = await spent(urls)
      console.log(tell('auth server earlier, told again', violations, amounts))
      expect(amounts.counted).toBeLessThan(amounts.sent)
      const others = violations.filter(
        (violation) => !/at the auth server nothing|and \d+ more/.test(violation)
      )
      expect(others).toEqual([])
    },
    TIMEOUT_MS
  )
})

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
function startLoad(system: System): { stop(): Promise<number> } {
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
    async stop() {
      isStopped = true
      await payers
      return count
    }
  }
}
