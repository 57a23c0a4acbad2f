import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  COMPUTED,
  findTableReads,
  findTableWrites,
  NESTED,
  tablesOfModels
} from '@open-payments-server/testing'
import { expect, it } from '@jest/globals'
import { Prisma } from '../src/generated/prisma/client.js'

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url))

/** Which module owns a table: it alone writes it, and only its fragments read it. */
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
  // Callers that pass a table to it are found by that.
  const computed = writes.filter(({ table }) => table === COMPUTED)
  expect(new Set(computed.map(({ file }) => file))).toEqual(new Set(['modules/purge-statement.ts']))
})

it('a table is read by the module that owns it, and by audits, which read everything', async () => {
  const reads = await findTableReads(SOURCES, TABLES)
  expect(
    reads.filter(
      ({ file, table }) =>
        !file.startsWith(`modules/${OWNERS[table] ?? ''}/`) && !file.startsWith('features/audit-limits/')
    )
  ).toEqual([])
  expect(new Set(reads.map(({ table }) => table))).toEqual(new Set(Object.keys(OWNERS)))
})

/** Runs a search over a folder with one file of this text. */
async function searched(
  find: typeof findTableReads,
  text: string
): Promise<Awaited<ReturnType<typeof findTableReads>>> {
  const folder = await mkdtemp(join(tmpdir(), 'table-owners-'))
  await writeFile(
    join(folder, 'planted.ts'),
    `// update interaction set x; select from interaction\nconst text = \`${text}\`\n`
  )
  const found = await find(folder, TABLES)
  await rm(folder, { recursive: true })
  return found
}

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
])('the write %s is found', async (text, table) => {
  expect(await searched(findTableWrites, text)).toEqual([{ file: 'planted.ts', table }])
})

it('nested writes of models are found', async () => {
  const text = 'on.grant.create({ data: { id, accessItems: { create: [item] }, tokens: { create: token } } })'
  const found = await searched(findTableWrites, text)
  expect(found.map(({ table }) => table)).toEqual(['grant_request', 'access_item', NESTED])
})

it.each([
  ['select 1 from reservation', ['reservation']],
  ['select 1 from wanted w, grant_request g where true', ['grant_request']],
  [
    'from access_token as t, public.interaction i join "access_item" a on true',
    ['access_token', 'interaction', 'access_item']
  ],
  ['left join lateral (select * from only limit_window) w on true', ['limit_window']],
  ['delete from x using reservation r', ['reservation']],
  ['await on.grant.findMany({})', ['grant_request']],
  ['await on.limitWindow.count()', ['limit_window']],
  ['select reservation.state from wanted for update of reservation', []]
])('the reads of %s are found', async (text, tables) => {
  expect(await searched(findTableReads, text)).toEqual(tables.map((table) => ({ file: 'planted.ts', table })))
})
