import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startTcpProxy, type TcpProxy } from '@open-payments-server/local-services'
import type pg from 'pg'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { isUnavailable } from './index.js'

const url = new URL(process.env.TEST_POSTGRES_URL ?? '')

/** A proxy between a service and PostgreSQL that can stop answering without ending any connection. */
let proxy: TcpProxy

beforeAll(async () => {
  proxy = await startTcpProxy(url.href)
})

afterAll(() => proxy.stop())

function newPool(poolUrl: URL, pooler: 'none' | 'transaction' = 'none'): pg.Pool {
  return openPool({ url: poolUrl.href, statementTimeoutMs: 1_000, pooler })
}

describe.each(['none', 'transaction'] as const)('a connection, pooler %s', (pooler) => {
  it('without an answer ends with all its statements, and is replaced', async () => {
    const pool = newPool(new URL(proxy.url), pooler)
    const [client, other] = [await pool.connect(), await pool.connect()]
    other.release()
    proxy.hang()
    const failures = await Promise.all([
      failureOf(client.query('select 1')),
      failureOf(client.query({ text: 'select $1::int', values: [1] })),
      failureOf(pool.query('select 2'))
    ])
    await proxy.restore()
    expect(failures.map((failure) => [isUnavailable(failure), String(failure)])).toEqual(
      failures.map(() => [true, 'NoDatabaseAnswer: the database did not answer in time'])
    )
    client.release(true)
    expect((await pool.query('select 3 as three')).rows).toEqual([{ three: 3 }])
    await pool.end()
  })
})

it('a statement error has the stack of its caller', async () => {
  const pool = newPool(url)
  const client = await pool.connect()
  async function whoAsks(): Promise<unknown> {
    return await client.query('select nothing_like_this')
  }
  expect(await failureOf(whoAsks())).toMatchObject({ stack: expect.stringContaining('whoAsks') })
  client.release()
  await pool.end()
})
