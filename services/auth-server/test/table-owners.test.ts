import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPUTED, findTableWrites, tablesOfModels } from '@open-payments-server/testing'
import { expect, it } from '@jest/globals'
import { Prisma } from '../src/generated/prisma/client.js'

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url))

/** Which module owns a table: it alone writes it. */
const OWNERS: Readonly<Record<string, string>> = {
  grant_request: 'grants',
  access_item: 'grants',
  interaction: 'interactions',
  access_token: 'tokens',
  limit_window: 'limits',
  reservation: 'limits'
}

/** The tables, by the names of their models as Prisma's client has them. `grant` is a word of SQL. */
const TABLES = { ...tablesOfModels(Object.keys(Prisma.ModelName)), grant: 'grant_request' }

it('every table has an owner', () => {
  expect(Object.keys(OWNERS).sort()).toEqual(Object.values(TABLES).sort())
})

it('a table is written by the module that owns it, and by nothing else', async () => {
  const writes = await findTableWrites(SOURCES, TABLES)
  const owned = writes.filter(({ table }) => table !== COMPUTED)
  expect(owned.filter(({ file, table }) => !file.startsWith(`modules/${OWNERS[table] ?? ''}/`))).toEqual([])
  expect(new Set(owned.map(({ table }) => table))).toEqual(new Set(Object.keys(OWNERS)))
  // Whoever hands it a table is found by that.
  const computed = writes.filter(({ table }) => table === COMPUTED)
  expect(new Set(computed.map(({ file }) => file))).toEqual(new Set(['modules/purge-statement.ts']))
})

it.each([
  ['insert into reservation (payment_id) values (1)', 'reservation'],
  ['with x as (update  access_token t set ended_at = now() returning 1) select 1', 'access_token'],
  ['delete from grant_request g using x', 'grant_request'],
  ['await on.grant.updateMany({})', 'grant_request'],
  ['purgeStatement({ table: Prisma.sql`reservation`, id: Prisma.sql`payment_id` })', 'reservation'],
  ['UPDATE ONLY "interaction" SET x = 1', 'interaction'],
  ['insert into public.interaction (id) values (1)', 'interaction'],
  ['truncate table interaction', 'interaction'],
  ['merge into interaction using x on true', 'interaction'],
  ['await on.grant.updateManyAndReturn({})', 'grant_request'],
  ['update ${table} set x = 1', COMPUTED]
])('%s is found', async (text, table) => {
  const folder = await mkdtemp(join(tmpdir(), 'table-owners-'))
  await writeFile(join(folder, 'planted.ts'), `// update interaction set x\nconst text = \`${text}\`\n`)
  expect(await findTableWrites(folder, TABLES)).toEqual([{ file: 'planted.ts', table }])
  await rm(folder, { recursive: true })
})
