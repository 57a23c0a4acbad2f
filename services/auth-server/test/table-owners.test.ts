import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import * as database from '@open-payments-server/database'
import {
  findTableReads,
  findTablesWrittenTwice,
  findTableWrites,
  readSchemaTables,
  type SchemaTables
} from '@open-payments-server/testing'
import { beforeAll, expect, it, jest } from '@jest/globals'

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url))
const PRISMA = fileURLToPath(new URL('../prisma/', import.meta.url))

/** Which module owns a table: it alone writes it, and only its fragments read it. */
const OWNERS: Readonly<Record<string, string>> = {
  grant_request: 'grants',
  access_item: 'grants',
  interaction: 'interactions',
  access_token: 'tokens',
  limit_window: 'limits',
  reservation: 'limits'
}

let tables: SchemaTables

beforeAll(async () => {
  tables = await readSchemaTables(`${PRISMA}schema.prisma`)
})

it('every table has an owner', () => {
  expect(Object.keys(OWNERS).sort()).toEqual(Object.values(tables.models).sort())
})

it('a table is written by the module that owns it, and by nothing else', async () => {
  const writes = await findTableWrites(SOURCES, tables)
  expect(writes.filter(({ file, table }) => !file.startsWith(`modules/${OWNERS[table] ?? ''}/`))).toEqual([])
  expect(new Set(writes.map(({ table }) => table))).toEqual(new Set(Object.keys(OWNERS)))
})

it('a table is read by the module that owns it, and by audits, which read everything', async () => {
  const reads = (await findTableReads(SOURCES, tables)).filter(
    ({ file }) => !file.startsWith('features/audit-limits/')
  )
  expect(reads.filter(({ file, table }) => !file.startsWith(`modules/${OWNERS[table] ?? ''}/`))).toEqual([])
  expect(new Set(reads.map(({ table }) => table))).toEqual(new Set(Object.keys(OWNERS)))
})

// Of two changes of one row in one statement only one takes effect, silently.
it('a table is written by one part of a statement, or by parts that never touch the same row', async () => {
  /** Statements that write a table with several parts, and why these parts never touch the same row. */
  const disjoint: Readonly<Record<string, string>> = {
    'end-reservations: reservation': 'reservations that were there are ended; ids that were not are inserted',
    'rotate-tokens: access_token': 'tokens that were there are ended; those that replace them are inserted',
    'purge-grants: grant_request': 'a grant is put off or deleted by whether its instant is before the cutoff'
  }
  const twice = (await composedStatements()).flatMap(({ name, text }) =>
    findTablesWrittenTwice(text).map((table) => `${name}: ${table}`)
  )
  expect(twice.sort()).toEqual(Object.keys(disjoint).sort())
})

/** All statements that the modules and features of the service compose. */
async function composedStatements(): Promise<readonly { name: string; text: string }[]> {
  const composed: { name: string; text: string }[] = []
  class RecordedStatement<Row> extends database.Statement<Row> {
    constructor(...[name, statement, options]: ConstructorParameters<typeof database.Statement>) {
      super(name, statement, options)
      composed.push({ name, text: statement.sql })
    }
  }
  jest.unstable_mockModule('@open-payments-server/database', () => ({
    ...database,
    Statement: RecordedStatement
  }))
  for (const folder of ['modules', 'features']) {
    const files = await readdir(`${SOURCES}${folder}`, { recursive: true })
    for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts')))
      await import(`${SOURCES}${folder}/${file}`)
  }
  const { createPurgeStatements } = await import('../src/features/purge-grants/purge-statements.js')
  createPurgeStatements({ undecidedSeconds: 1, unconsentedSeconds: 1 })
  const sources = await readdir(SOURCES, { recursive: true, withFileTypes: true })
  const texts = await Promise.all(
    sources
      .filter(({ name, parentPath }) => /(?<!\.test)\.ts$/.test(name) && !parentPath.includes('generated'))
      .map(({ name, parentPath }) => readFile(`${parentPath}/${name}`, 'utf8'))
  )
  const composing = texts.join('').match(/new Statement\b/g) ?? []
  expect(composed.length).toBeGreaterThanOrEqual(composing.length)
  return composed
}

it('no row of a table is deleted with one of another module, but for what belongs to it', async () => {
  const folders = await readdir(`${PRISMA}migrations`, { withFileTypes: true })
  const migrations = await Promise.all(
    folders
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => readFile(`${PRISMA}migrations/${name}/migration.sql`, 'utf8'))
  )
  const cascades = migrations
    .flatMap((text) => text.split(/(?=^(?:create|alter) table )/m))
    .flatMap((statement) => {
      const [, table = ''] = /^(?:create|alter) table (?:only )?"?(\w+)/.exec(statement) ?? []
      return [...statement.matchAll(/references "?(\w+)"?[^,;]*?on delete (?:cascade|set)/g)].map(
        ([, referred = '']) => ({ table, referred })
      )
    })
    .filter(({ table, referred }) => OWNERS[table] !== OWNERS[referred])
  expect(cascades.map(({ table, referred }) => `${table} with ${referred}`)).toEqual([
    // What belongs to a grant is deleted with it, in the one statement that purges grants.
    'interaction with grant_request',
    'access_token with grant_request'
  ])
})
