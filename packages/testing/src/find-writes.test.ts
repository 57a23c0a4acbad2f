import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  COMPUTED,
  findTableReads,
  findTablesWrittenTwice,
  findTableWrites,
  readSchemaTables,
  type SchemaTables
} from './find-writes.js'

const SCHEMA = `
model Grant {
  id          String        @id
  accessItems AccessItem[]
  tokens      AccessToken[]
  holder      Account?      @relation(fields: [id], references: [id])

  @@map("grant_request")
}

model AccessItem {
  grant Grant @relation(fields: [id], references: [id])
  @@map("access_item")
}

model AccessToken {
  id String @id
  @@map("access_token")
}

model Account {
  id String @id
  @@map("account")
}

model Quote {
  id String @id
  @@map("quote")
}
`

let folder: string
let tables: SchemaTables

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'table-owners-'))
  await writeFile(join(folder, 'schema.prisma'), SCHEMA)
  tables = await readSchemaTables(join(folder, 'schema.prisma'))
})
afterAll(() => rm(folder, { recursive: true }))

it('the tables are those of the models, and of the relations between them', () => {
  expect(tables).toEqual({
    models: {
      grant: 'grant_request',
      accessItem: 'access_item',
      accessToken: 'access_token',
      account: 'account',
      quote: 'quote'
    },
    relations: {
      accessItems: 'access_item',
      tokens: 'access_token',
      holder: 'account',
      grant: 'grant_request'
    }
  })
})

/** The tables that a search finds in a file with a text. */
async function found(find: typeof findTableReads, text: string): Promise<readonly string[]> {
  const comment = "import { Prisma } from '../database.js'\n// update quote set x; select from quote\n"
  await writeFile(join(folder, 'planted.ts'), `${comment}${text}\n`)
  const uses = await find(folder, tables)
  expect(new Set(uses.map(({ file }) => file))).toEqual(new Set(uses.length === 0 ? [] : ['planted.ts']))
  return uses.map(({ table }) => table)
}

it.each<[text: string, tables: string[]]>([
  ['sql`insert into quote (id) values (1)`', ['quote']],
  ['sql`with x as (update  access_token t set ended_at = now() returning 1) select 1`', ['access_token']],
  ['sql`delete from grant_request g using x`', ['grant_request']],
  ['sql`UPDATE ONLY "quote" SET x = 1`', ['quote']],
  ['sql`insert into public.quote (id) values (1)`', ['quote']],
  ['sql`merge into quote using x on true`', ['quote']],
  ['sql`truncate table quote`', ['quote']],
  ['sql`truncate access_item, "account" , public.quote cascade`', ['access_item', 'account', 'quote']],
  ['sql`update ${table} set x = 1`', [COMPUTED]],
  ['sql`select 1 from x for no key update`', []],
  ["'insert into ' + 'quote'", [COMPUTED]],
  ["'delete ' + 'from quote'", [COMPUTED]],
  ["'update quo' + 'te set x = 1'", [COMPUTED]],
  ["['truncate ', name].join('')", [COMPUTED]],
  ['on.$executeRawUnsafe(text)', [COMPUTED]],
  ['await on.grant.updateMany({})', ['grant_request']],
  ['await on.grant.updateManyAndReturn({})', ['grant_request']],
  ['await on.quote\n    .create({})', ['quote']],
  ["await on['quote'].create({})", ['quote']],
  ['await on[model].create({})', [COMPUTED]],
  ['const { quote } = on\nawait quote.create({})', ['quote']],
  ['const { quote: other } = on\nawait other.create({})', ['quote']],
  ['on.grant.create({ data: { id, tokens: { create: token } } })', ['grant_request', 'access_token']],
  ['on.grant.update({ data: { unknown: { create: token } } })', ['grant_request', COMPUTED]],
  ['purge({ table: Prisma.sql`quote`, isKept: Prisma.sql`false` })', ['quote']],
  ['purge({ isKept: Prisma.sql`false`, table: Prisma.sql`quote` })', ['quote']],
  ["purge({ isKept: Prisma.sql`false`, table: Prisma.raw('quote') })", ['quote']],
  ['export const GRANTS = Prisma.sql`grant_request g`', [COMPUTED, 'grant_request']],
  ["type Action = 'create' | 'update'", []]
])('the writes of %s are found', async (text, expected) => {
  expect(await found(findTableWrites, text)).toEqual(expected)
})

it.each<[text: string, tables: string[]]>([
  ['sql`select 1 from wanted w, grant_request g where true`', ['grant_request']],
  ['sql`select 1 from x left join  "account" s on true`', ['account']],
  ['sql`select 1 from quote q, account a`', ['quote', 'account']],
  [
    'sql`from access_token as t, public.quote i join "access_item" a on true`',
    ['access_token', 'quote', 'access_item']
  ],
  ['sql`left join lateral (select * from only quote) w on true`', ['quote']],
  ['sql`with y as (delete from x using public.quote t) select 1`', ['quote']],
  ['sql`select quote.state, account_id from wanted, quotes for update of quote`', []],
  ['sql`select 1 from ${table}`', [COMPUTED]],
  ["sql`select 1 from ${Prisma.raw('quote')}`", [COMPUTED, 'quote']],
  ['sql`select 1 from ${GRANTS} join ${grantByKey(id)} on true`', []],
  ["'select 1 from ' + name", [COMPUTED]],
  ['{ table: Prisma.sql`quote`, columns: COLUMNS }', ['quote']],
  ['await on.grant.findMany({})', ['grant_request']],
  ['await on.accessToken.count()', ['access_token']],
  ["await on['quote']\n.findFirstOrThrow({})", ['quote']],
  ['await on[model].findMany({})', [COMPUTED]],
  ['const { quote } = on\nawait quote.findUnique({})', ['quote']],
  [
    'on.grant.findMany({ include: { accessItems: { include: { grant: true } }, tokens: true } })',
    ['grant_request', 'access_item', 'grant_request', 'access_token', 'grant_request']
  ],
  ['const WITH = { select: { id: true, holder: { select: { id: true } } } }', ['account']],
  ['on.grant.findMany({ where: { tokens: { some: { id } } } })', ['grant_request', 'access_token']],
  ['on.grant.findMany({ orderBy: [{ holder: { id: 1 } }] })', ['grant_request', 'account']],
  ['on.grant.findMany({ include: { tokens: TOKENS } })', ['grant_request']]
])('the reads of %s are found', async (text, expected) => {
  expect(await found(findTableReads, text)).toEqual(expected)
})

it.each<[text: string, tables: string[]]>([
  ['with a as (insert into quote select 1), b as (update account set x = 1) select 1', []],
  ['with a as (insert into quote select 1), b as (update public.quote set x = 1) select 1', ['quote']],
  [
    'with a as (insert into quote select 1 on conflict do update set x = 1) select 1 from quote for update',
    []
  ],
  ["with a as (delete from quote) select 'delete from quote' -- delete from quote", []]
])('the tables that %s writes twice are found', (text, expected) => {
  expect(findTablesWrittenTwice(text)).toEqual(expected)
})
