import { fileURLToPath } from 'node:url'
import { createPool, readServerState } from '@open-payments-server/database'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type pg from 'pg'
import { createTestDatabase, recordStatements, type TestDatabase } from './index.js'

const prisma = fileURLToPath(new URL('../../../services/auth-server/prisma/', import.meta.url))

let database: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  database = await createTestDatabase({ migrationsPath: `${prisma}migrations` })
  pool = createPool({
    url: database.url,
    connectionsMax: 2,
    applicationName: 'record-statements',
    statementTimeoutMs: 10_000,
    connectTimeoutMs: 10_000
  })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Sends statements one after the other over one connection. */
async function send(...texts: readonly string[]): Promise<void> {
  const client = await pool.connect()
  try {
    for (const text of texts) await client.query(text)
  } finally {
    client.release()
  }
}

it('what is requested is recorded in order, with its transaction, over every connection, until it is stopped', async () => {
  const record = recordStatements(pool)
  await send('begin', 'select 1', '/* claim-outgoing-payments */ select 2', 'commit', 'select 3')
  const held = await pool.connect()
  await send('select 4')
  held.release()
  record.stop()
  await send('select 5')
  expect(record.statements).toEqual(['begin', 'select 1', 'commit', 'select 3', 'select 4'])
})

it('what a service sends by itself is left out, and a transaction that begins with it', async () => {
  const record = recordStatements(pool)
  await readServerState(pool)
  await send('/* tell-expiries, planned anew */ select 1')
  await send('BEGIN', '/* claim-reservation-outcomes */ select 1', 'select 2', 'COMMIT', 'select 3')
  await send(
    'begin',
    '/* lock-event-log */ select 1',
    'select 2',
    'rollback',
    'begin',
    'select 4',
    'rollback'
  )
  record.stop()
  expect(record.statements).toEqual(['select 3', 'begin', 'select 4', 'rollback'])
})
