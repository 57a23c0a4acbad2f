import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@open-payments-server/acceptance'
import type { TestDatabase } from '@open-payments-server/testing'
import pg from 'pg'
import { type LoadedSystem, type RunningLoad, startLoadedSystem } from '../src/loaded-system.js'
import { RestartablePostgres } from '../src/restartable-postgres.js'

/** How long a database stays away. */
const AWAY_MS = 1_500
/** Maximum time from the return of the database to full recovery: a few times what a request may wait on a busy machine. */
const RECOVERED_WITHIN_MS = 30_000
const TIME_LIMIT_MS = 600_000

describe('while payments and other requests go on, a database that', () => {
  let postgres: RestartablePostgres
  let loaded: LoadedSystem

  beforeAll(async () => {
    postgres = await RestartablePostgres.start()
    loaded = await startLoadedSystem(postgres.url)
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    await loaded.system.stop()
    await postgres.stop()
  })

  const duringLoad = async (happening: (running: RunningLoad) => Promise<void>): Promise<void> => {
    const { wrong, recoveredMs, counts } = await loaded.during(happening)
    expect(wrong).toEqual(new Set())
    expect(recoveredMs).toBeLessThan(RECOVERED_WITHIN_MS)
    expect(await loaded.wrongs()).toEqual([])
    expect(counts[503] ?? 0).toBeGreaterThan(0)
  }

  it.each([
    ['at once', 0],
    ['after a while', AWAY_MS]
  ])(
    'crashes and is back %s',
    (_when, awayMs) =>
      duringLoad(async () => {
        await postgres.crash()
        await delay(awayMs)
        await postgres.restart()
      }),
    TIME_LIMIT_MS
  )

  it(
    'crashes again as soon as it is back',
    () =>
      duringLoad(async () => {
        for (let count = 0; count < 2; count += 1) {
          await postgres.crash()
          await postgres.restart()
        }
      }),
    TIME_LIMIT_MS
  )

  it(
    'is away for longer than a client is kept waiting: it then gets no answer, and the truth when it asks again',
    () =>
      duringLoad(async () => {
        await postgres.crash()
        await eventually('clients get no answer', async () => 'no answer' in loaded.load.statuses)
        await postgres.restart()
      }),
    TIME_LIMIT_MS
  )

  it(
    'has no connection left',
    () =>
      duringLoad(async (running) => {
        const acceptAgain = await postgres.refuseConnections()
        await running.whenRefused(loaded.others.length)
        await acceptAgain()
      }),
    TIME_LIMIT_MS
  )

  it(
    'takes no changes, as after a failover',
    () =>
      duringLoad(async (running) => {
        await postgres.setReadOnly(true)
        await running.whenRefused(loaded.others.length)
        await postgres.setReadOnly(false)
      }),
    TIME_LIMIT_MS
  )

  it(
    'keeps payments, limits and grants locked for longer than a statement may take',
    () =>
      duringLoad(async (running) => {
        const unlock = await Promise.all([
          lockTable(loaded.system.resourceDatabase, 'outgoing_payment'),
          lockTable(loaded.system.authDatabase, 'limit_window'),
          lockTable(loaded.system.authDatabase, 'grant_request')
        ])
        await running.whenRefused(1)
        for (const release of unlock) await release()
      }),
    TIME_LIMIT_MS
  )

  it(
    'keeps accounts locked for longer than a statement may take',
    () =>
      duringLoad(async (running) => {
        const unlock = await lockTable(loaded.system.resourceDatabase, 'account')
        await running.whenRefused(1)
        await unlock()
      }),
    TIME_LIMIT_MS
  )
})

/** Locks a table against everybody. @returns unlocks it */
async function lockTable(database: TestDatabase, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin')
  await client.query(`lock table ${pg.escapeIdentifier(table)} in access exclusive mode`)
  return () => client.end()
}
