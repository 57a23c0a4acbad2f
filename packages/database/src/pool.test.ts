import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from '@jest/globals'
import { failureOf } from '../test/support/failure-of.js'
import { openPool } from '../test/support/open-pool.js'
import { isUnavailable } from './index.js'

it('a connection that breaks inside a transaction fails its next statement, and nothing else', async () => {
  const pool = openPool()
  const client = await pool.connect()
  await client.query('begin')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const broken = new Promise((resolve) => client.once('end', resolve))
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  // Without a listener, this error event would end the process.
  await broken
  expect(isUnavailable(await failureOf(client.query('select 1')))).toBe(true)
  client.release(true)
  expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await pool.end()
})

/** A message of PostgreSQL's protocol. */
function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part))
  )
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + length.length)
  return Buffer.concat([Buffer.from(type), length, body])
}

it('a connection that breaks with the word that it is there fails who waits for it, and nothing else', async () => {
  const ended = Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('Z', Buffer.from('I')),
    message('E', 'SFATAL', 'C57P01', 'Mterminating connection due to administrator command', Buffer.alloc(1))
  ])
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(ended))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = openPool({ url: `postgresql://someone@127.0.0.1:${String(port)}/any?sslmode=disable` })
  expect(isUnavailable(await failureOf(pool.query('select 1')))).toBe(true)
  await pool.end()
  server.close()
})

it('statements are planned once for each connection, whatever their values', async () => {
  const pool = openPool({ connectionsMax: 1 })
  const together = (values: readonly number[]) =>
    pool.query({
      name: 'together',
      text: 'select n from unnest($1::integer[]) as n order by n',
      values: [values]
    })
  for (let times = 0; times < 10; times += 1) await together([times])
  const { rows } = await pool.query(
    `select generic_plans::integer, custom_plans::integer from pg_prepared_statements where name = 'together'`
  )
  expect(rows).toEqual([{ generic_plans: 10, custom_plans: 0 }])
  await pool.end()
})
