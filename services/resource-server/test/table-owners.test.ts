import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPUTED, findTableReads, findTableWrites, tablesOfModels } from '@open-payments-server/testing'
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
  // Callers that pass a table to it are found by that.
  const computed = writes.filter(({ table }) => table === COMPUTED)
  expect(new Set(computed.map(({ file }) => file))).toEqual(new Set(['modules/purge-statement.ts']))
})

// The audit checks the modules, so it must not read through their fragments.
it('a table is read by the module that owns it, through the fragments of that module, and by the audit', async () => {
  const reads = await findTableReads(SOURCES, TABLES)
  const foreign = reads.filter(({ file, table }) => !file.startsWith(`modules/${OWNERS[table] ?? ''}/`))
  expect(foreign.filter(({ file }) => !file.startsWith('features/audit-money/'))).toEqual([])
  expect(new Set(reads.map(({ table }) => table))).toEqual(new Set(Object.keys(OWNERS)))
})

it.each([
  ['select 1 from wallet_address w', ['wallet_address']],
  ['select 1 from x left join  "asset" s on true', ['asset']],
  ['select 1 from quote q, account a', ['quote', 'account']],
  ['with y as (delete from x using public.transfer t) select 1', ['transfer']],
  ['{ table: Prisma.sql`outgoing_payment`, columns: COLUMNS }', ['outgoing_payment']],
  ['await on.walletAddress.findMany({})', ['wallet_address']],
  ['select account_id from quotes', []]
])('%s reads %j', async (text, tables) => {
  expect(await readsOf(text)).toEqual(tables)
})

/** The tables that a file with a text reads. */
async function readsOf(text: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'table-owners-'))
  await writeFile(join(folder, 'planted.ts'), `// from account\nconst text = \`${text}\`\n`)
  const reads = await findTableReads(folder, TABLES)
  await rm(folder, { recursive: true })
  return reads.map(({ table }) => table)
}

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
