import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  type LocalPostgres,
  startPostgres,
  startTcpProxy,
  type TcpProxy
} from '@open-payments-server/local-services'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { isUnavailable } from './index.js'

type Place = 'first' | 'second'

let parent: string
let servers: Record<Place, LocalPostgres>
/** To the first one. */
let network: TcpProxy
/** Of both, the standby first. */
let url: string
let pool: pg.Pool

beforeAll(async () => {
  parent = await mkdtemp(join(await realpath(tmpdir()), 'hosts-'))
  // PostgreSQL may run as a user of its own, who must get through.
  await chmod(parent, 0o711)
  await (await start('first')).stop()
  // With modes and owners.
  await promisify(execFile)('cp', ['-a', join(parent, 'first'), join(parent, 'second')])
  await writeFile(join(parent, 'second', 'cluster', 'data', 'standby.signal'), '')
  servers = { first: await start('first'), second: await start('second') }
  network = await startTcpProxy(servers.first.url)
  const [{ host }, other] = [new URL(servers.second.url), new URL(network.url)]
  url = other.href.replace(other.host, `${host},${other.host}`) + '?target_session_attrs=read-write'
  pool = openPool({ url, connectTimeoutMs: 2_000 })
}, 240_000)
afterAll(async () => {
  await pool.end()
  await network.stop()
  await Promise.all(Object.values(servers).map((server) => server.stop()))
  await rm(parent, { recursive: true })
})

const start = (place: Place, port?: number): Promise<LocalPostgres> =>
  startPostgres({
    directory: join(parent, place),
    persistent: true,
    settings: { max_connections: '20', log_min_messages: 'fatal' },
    ...(port === undefined ? {} : { port })
  })
const portOf = (place: Place): number => Number(new URL(servers[place].url).port)

async function reached(by = pool): Promise<number> {
  const { rows } = await by.query<{ port: number }>('select inet_server_port() as port')
  return rows[0]?.port ?? 0
}

async function promote(place: Place): Promise<void> {
  const client = new pg.Client({ connectionString: servers[place].url })
  await client.connect()
  await client.query('select pg_promote()').finally(() => client.end())
}

it('connections go to the primary, wherever it is named', async () => {
  expect(await reached()).toBe(portOf('first'))
})

it('they go to the successor of one that was cut off, and those that it had are given up', async () => {
  const client = await pool.connect()
  network.hang()
  const cutOff = failureOf(client.query('select 1'))
  let failure: unknown
  do failure = await failureOf(pool.query('select 1'))
  while (isUnavailable(failure) && !(failure instanceof AggregateError))
  expect(failure).toMatchObject({ message: 'no host of the database is the primary' })
  expect(isUnavailable(failure)).toBe(true)
  await promote('second')
  expect(await reached()).toBe(portOf('second'))
  expect(await cutOff).toMatchObject({ name: 'UnfitServer', code: '25006' })
  client.release(true)
  await network.restore()
  expect(await reached()).toBe(portOf('second'))
  const later = openPool({ url })
  expect(await reached(later)).toBe(portOf('second'))
  await later.end()
})
