import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from './index.js'

const prisma = fileURLToPath(new URL('../../../services/auth-server/prisma/', import.meta.url))
const service = { migrationsPath: `${prisma}migrations` }
const made: TestDatabase[] = []

afterAll(async () => {
  await Promise.all(made.map((database) => database.drop()))
})

describe('a test database', () => {
  it('is migrated and isolated, even when several are created at once', async () => {
    made.push(...(await Promise.all([createTestDatabase(service), createTestDatabase(service)])))
    const [first, second] = made
    await first?.query('create table only_here (id int)')
    const tables = await second?.query<{ tablename: string }>(
      "select tablename from pg_tables where schemaname = 'public'"
    )
    const names = tables?.map((table) => table.tablename)
    expect(names).toContain('grant_request')
    expect(names).not.toContain('only_here')
  })
})
