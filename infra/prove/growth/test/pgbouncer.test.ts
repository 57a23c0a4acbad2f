import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  allSettled,
  amount,
  consentedToken,
  createReceiver,
  outgoingAccess,
  PATIENT,
  pay,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { type LocalPgBouncer, startPgBouncer } from '@open-payments-server/local-services'
import { createPool } from '@open-payments-server/database'
import { exerciseEverything } from '../src/exercise.js'

/** Sessions for each database: fewer than each service's own connections, so that every transaction may get another. */
const SESSIONS_MAX = 3
const PAYMENTS = 60
const TEST_TIMEOUT_MS = 300_000

const pgBouncer = await startPgBouncer({
  postgresUrl: process.env.TEST_POSTGRES_URL ?? '',
  sessionsMax: SESSIONS_MAX
})
if (pgBouncer === undefined) console.log('there is no pgbouncer on the PATH: not tested behind it')

const describeBehind = pgBouncer === undefined ? describe.skip : describe

describeBehind('behind PgBouncer in transaction mode, with fewer sessions than connections', () => {
  let system: System

  beforeAll(async () => {
    const { through } = pgBouncer as LocalPgBouncer
    const viaPooler = (url: string): Promise<string> => Promise.resolve(through(url))
    const settings = { DATABASE_POOLER: 'transaction', DATABASE_CONNECTIONS_MAX: '12' }
    system = await startSystem({
      detours: { authDatabase: viaPooler, resourceDatabase: viaPooler },
      auth: settings,
      resource: { ...PATIENT, ...settings, SWEEP_INTERVAL_SECONDS: '1' }
    })
  })
  afterAll(async () => {
    await system.stop()
    await pgBouncer?.stop()
  })

  it(
    'everything works that clients and operators do',
    async () => {
      await exerciseEverything(system, ['/alice'])
      expect(await system.audit()).toEqual([])
    },
    TEST_TIMEOUT_MS
  )

  it(
    `${PAYMENTS} payments at once under one grant spend its limit and no more`,
    async () => {
      const { shop } = system
      const receiver = await createReceiver(system, shop)
      const { token } = await consentedToken(system, shop, [
        outgoingAccess(system, { debitAmount: amount(1_000) })
      ])
      const before = await system.balance('alice')
      const answers = await Promise.all(
        Array.from({ length: PAYMENTS }, () => pay(system, shop, token, receiver.url, 50n))
      )
      const count = (status: number): number => answers.filter((answer) => answer.status === status).length
      expect({ created: count(201), refused: count(403) }).toEqual({ created: 20, refused: PAYMENTS - 20 })
      await allSettled(system)
      expect(await system.balance('alice')).toBe(before - 1_000n)
      expect(await system.audit()).toEqual([])
    },
    TEST_TIMEOUT_MS
  )

  it('sessions are shared: PgBouncer opens no more than its limit for many more connections', async () => {
    const [row] = await system.resourceDatabase.query<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
        where datname = current_database() and application_name = 'resource-server'`
    )
    expect(row?.count).toBeLessThanOrEqual(SESSIONS_MAX)
    const names = await system.resourceDatabase.query('select 1 from pg_prepared_statements')
    expect(names).toEqual([])
  })
  it('a service not configured for it does not connect, and says why', async () => {
    const pool = createPool({
      url: system.resourceServers[0]?.settings.DATABASE_URL ?? '',
      connectionsMax: 2,
      applicationName: 'not-told',
      statementTimeoutMs: 5_000,
      connectTimeoutMs: 60_000
    })
    await expect(pool.query('select 1')).rejects.toThrow('unsupported startup parameter: statement_timeout')
    await pool.end()
  })
})
