import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type LocalPostgres, startPostgres } from '@open-payments-server/local-services'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { isUnavailable, type ServerState } from './index.js'

let directory: string
let server: LocalPostgres
/** Of someone who may do everything, and waits for no standby. */
let administrator: pg.Client

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'synchronous-'))
  // Nobody is called so, so that no commit is ever confirmed.
  server = await startPostgres({ directory, persistent: true, settings: { max_connections: '20' } })
  administrator = new pg.Client({ connectionString: server.url })
  await administrator.connect()
  await administrator.query('set synchronous_commit = local')
  await administrator.query('create table noted (what text)')
  await setStandbys('nobody')
}, 120_000)
afterAll(async () => {
  await administrator.end()
  await server.stop()
  await rm(directory, { recursive: true })
})

async function setStandbys(names: string): Promise<void> {
  await administrator.query(`alter system set synchronous_standby_names = ${pg.escapeLiteral(names)}`)
  await administrator.query('select pg_reload_conf()')
  const shown = async () =>
    (
      await administrator.query<{ names: string }>(
        `select current_setting('synchronous_standby_names') as names`
      )
    ).rows
  while ((await shown())[0]?.names !== names) await delay(5)
}

it('a server that waits for a standby is used, and one that no longer does only by the connections it has', async () => {
  const states: ServerState[] = []
  const pool = openPool({
    url: server.url,
    durability: 'synchronous',
    onConnected: (state) => {
      states.push(state)
    }
  })
  const client = await pool.connect()
  const { rows } = await administrator.query('select system_identifier from pg_control_system()')
  const system = (rows as { system_identifier: string }[])[0]?.system_identifier
  expect(states).toEqual([{ isPrimary: true, waitsForStandby: true, timeline: '00000001', system }])
  await setStandbys('')
  try {
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    const refusal = await failureOf(pool.query('select 1'))
    expect(refusal).toMatchObject({ name: 'UnfitServer', code: 'NOT_SYNCHRONOUS' })
    expect(isUnavailable(refusal)).toBe(true)
    const other = openPool({ url: server.url, durability: 'platform' })
    expect((await other.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await other.end()
  } finally {
    await setStandbys('nobody')
  }
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  client.release()
  await pool.end()
})

it.each([
  ['of one statement', ''],
  ['of a transaction', 'begin']
])('a commit %s whose wait for a standby is cancelled is not known to be done', async (_what, begin) => {
  const pool = openPool({ url: server.url, durability: 'synchronous', statementTimeoutMs: 60_000 })
  const client = await pool.connect()
  await client.query(begin)
  const inserted = client.query(`insert into noted values ('${begin}')`)
  const committed = failureOf(begin === '' ? inserted : inserted.then(() => client.query('commit')))
  const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep'`
  while ((await administrator.query(waiting)).rowCount === 0) await delay(5)
  await administrator.query(`select pg_cancel_backend(pid) from (${waiting}) as one`)
  const failure = await committed
  expect(failure).toMatchObject({ name: 'LocalCommit' })
  expect(isUnavailable(failure)).toBe(true)
  // The warning may come a moment before others see what was committed.
  const noted = async () => (await administrator.query('select from noted where what = $1', [begin])).rowCount
  while ((await noted()) !== 1) await delay(5)
  client.release(true)
  await pool.end()
})
