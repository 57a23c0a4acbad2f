import { fileURLToPath } from 'node:url'
import {
  type ComposedStatement,
  composeStatements,
  findForeignCascades,
  findModelWrites,
  findTableReads,
  findTablesWrittenTwice,
  findTableWrites,
  findWrittenTables,
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
  grant_expiry: 'grants',
  grant_act: 'grants',
  interaction: 'interactions',
  access_token: 'tokens',
  limit_window: 'limits',
  reservation: 'limits',
  client_freeze: 'frozen-clients',
  consent_record: 'consent-records'
}

/** Tables whose statements are in `packages/events`, `packages/webhooks` and `packages/service-kit`: nothing here names them. */
const TABLES_OF_PACKAGES = [
  'event',
  'event_epoch',
  'event_log',
  'event_outbox',
  'operator_action',
  'operator_proposal',
  'webhook_attempt',
  'webhook_delivery',
  'webhook_endpoint'
]

let tables: SchemaTables
let statements: readonly ComposedStatement[]

beforeAll(async () => {
  tables = await readSchemaTables(`${PRISMA}schema.prisma`)
  statements = await composeStatements(SOURCES, {
    mockModule: jest.unstable_mockModule,
    composeOthers: async () => {
      const { createPurgeStatements } = await import('../src/features/purge-grants/purge-statements.js')
      createPurgeStatements({ undecidedSeconds: 1, unconsentedSeconds: 1 })
    }
  })
})

it('every table has an owner', () => {
  expect([...Object.keys(OWNERS), ...TABLES_OF_PACKAGES].sort()).toEqual(Object.values(tables.models).sort())
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
    'approve-grant: access_item': 'items that were granted are changed, and only others deleted',
    'lock-event-log: event_epoch': 'an epoch is inserted if there is none to be met for the first time',
    'lease-webhook-endpoints: webhook_endpoint':
      'leases that are held are renewed, and only others are taken',
    'record-webhook-deliveries: webhook_delivery':
      'rows of events that were delivered go, and those of events that were not are written',
    'end-reservations: reservation': 'reservations that were there are ended; ids that were not are inserted',
    'rotate-tokens: access_token': 'tokens that were there are ended; those that replace them are inserted',
    'purge-grants: grant_request': 'a grant is put off or deleted by whether its instant is before the cutoff'
  }
  const twice = statements.flatMap(({ name, text }) =>
    findTablesWrittenTwice(text).map((table) => `${name}: ${table}`)
  )
  expect(twice.sort()).toEqual(Object.keys(disjoint).sort())
})

it('no row of a table is deleted with one of another module, but for what belongs to it', async () => {
  expect(await findForeignCascades(`${PRISMA}migrations/`, OWNERS)).toEqual([
    // What belongs to a grant is deleted with it, in the one statement that purges grants.
    'interaction with grant_request',
    'access_token with grant_request',
    'consent_record with grant_request'
  ])
})

// What changes and is not told, nobody learns.
it('a statement that changes something appends an event, or nobody needs to know', async () => {
  /** Statements that append none, and why. */
  const silent: Readonly<Record<string, string>> = {
    'complete-spent': 'it records what a payment was answered, which its client has',
    'end-reservations': 'the resource server tells of the payment',
    'purge-grants': 'it ended, and that was told, or nobody decided',
    'purge-refusals': 'a refusal is told to its client alone',
    'purge-tokens': 'it was rotated, and that was told',
    refuse: 'a refusal is told to its client alone',
    'restore-reservation': 'the resource server told of the payment'
  }
  /** The same, of writes by Prisma's models. */
  const silentModels: Readonly<Record<string, string>> = {
    'modules/grants/change.ts: grant_request': 'it waits again: its state is the same',
    'modules/interactions/change.ts: interaction':
      'that a browser opened or left the consent page decides nothing'
  }
  const written = statements
    .filter(({ text }) => findWrittenTables(text).some((table) => table in OWNERS))
    .filter(({ text }) => !findWrittenTables(text).includes('event_outbox'))
  expect(written.map(({ name }) => name).sort()).toEqual(Object.keys(silent).sort())
  const models = await findModelWrites(SOURCES, tables)
  expect(models.map(({ file, table }) => `${file}: ${table}`).sort()).toEqual(
    Object.keys(silentModels).sort()
  )
})
