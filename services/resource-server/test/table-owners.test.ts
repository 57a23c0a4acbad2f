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
  asset: 'ledger',
  account: 'ledger',
  transfer: 'ledger',
  wallet_address: 'wallet-addresses',
  client_key: 'wallet-addresses',
  incoming_payment: 'incoming-payments',
  outgoing_payment: 'outgoing-payments',
  quote: 'quotes',
  grant_reservation: 'grant-outcomes',
  database_timeline: 'grant-outcomes'
}

/** The tables, by the names of their models as Prisma's client has them. */
const TABLES = tablesOfModels(Object.keys(Prisma.ModelName))

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
  ['insert into quote (id) values (1)', 'quote'],
  ['with x as (update  account a set debits_pending = 0 returning 1) select 1', 'account'],
  ['delete from transfer t using x', 'transfer'],
  ['await on.grantReservation.updateMany({})', 'grant_reservation'],
  ['purgeStatement({ table: Prisma.sql`quote`, isKept: Prisma.sql`false` })', 'quote'],
  ['UPDATE ONLY "quote" SET x = 1', 'quote'],
  ['insert into public.quote (id) values (1)', 'quote'],
  ['truncate table quote', 'quote'],
  ['merge into quote using x on true', 'quote'],
  ['await on.walletAddress.updateManyAndReturn({})', 'wallet_address'],
  ['update ${table} set x = 1', COMPUTED]
])('%s is found', async (text, table) => {
  const folder = await mkdtemp(join(tmpdir(), 'table-owners-'))
  await writeFile(join(folder, 'planted.ts'), `// update quote set x\nconst text = \`${text}\`\n`)
  expect(await findTableWrites(folder, TABLES)).toEqual([{ file: 'planted.ts', table }])
  await rm(folder, { recursive: true })
})
