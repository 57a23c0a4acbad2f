import { expect, it } from '@jest/globals'
import { createPool, isUnavailable } from './index.js'

it('a connection that breaks inside a transaction fails its next statement, and nothing else', async () => {
  const url = process.env.TEST_POSTGRES_URL ?? ''
  const pool = createPool({
    url,
    connectionsMax: 2,
    applicationName: 'pool-test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 5_000
  })
  const client = await pool.connect()
  await client.query('begin')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const broken = new Promise((resolve) => client.once('end', resolve))
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  // Were nobody listening, the error event of this moment would end the process.
  await broken
  const failure: unknown = await client.query('select 1').catch((error: unknown) => error)
  expect(isUnavailable(failure)).toBe(true)
  client.release(true)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await pool.end()
})
