import { fileURLToPath } from 'node:url'
import {
  type ComposedStatement,
  composeStatements,
  COMPUTED,
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
  asset: 'ledger',
  account: 'ledger',
  transfer: 'ledger',
  wallet_address: 'wallet-addresses',
  client_key: 'wallet-addresses',
  incoming_payment: 'incoming-payments',
  outgoing_payment: 'outgoing-payments',
  quote: 'quotes',
  expiry: 'expiries',
  approval_rule: 'approvals',
  payment_approval: 'approvals',
  known_payee: 'approvals',
  refund: 'refunds',
  peer: 'peers',
  peer_token: 'peers',
  peer_day: 'peers',
  peer_settlement: 'peers',
  received_packet: 'interledger',
  sent_packet: 'interledger',
  sending: 'outgoing-payments',
  provider_grant: 'provider-grants',
  grant_reservation: 'grant-outcomes',
  accepted_payment: 'grant-outcomes',
  database_incarnation: 'timeline',
  frozen_client: 'frozen-clients',
  payment_hour: 'payment-hours'
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

/** Tables that the version before uses, and this one does not. */
const TABLES_LEFT_BEHIND = ['database_timeline']

const READ_BY_THE_AUDIT_ALONE = 'accepted_payment'

let tables: SchemaTables
let statements: readonly ComposedStatement[]

beforeAll(async () => {
  tables = await readSchemaTables(`${PRISMA}schema.prisma`)
  statements = await composeStatements(SOURCES, { mockModule: jest.unstable_mockModule })
})

it('every table has an owner', () => {
  const named = [...Object.keys(OWNERS), ...TABLES_OF_PACKAGES, ...TABLES_LEFT_BEHIND]
  expect(named.sort()).toEqual(Object.values(tables.models).sort())
})

it('a table is written by the module that owns it, and by nothing else', async () => {
  // The texts of the audit's checks are not read here; the snapshot that they are sent in is read-only.
  const writes = (await findTableWrites(SOURCES, tables)).filter(
    ({ file, table }) => table !== COMPUTED || !file.startsWith('features/audit-money/')
  )
  expect(writes.filter(({ file, table }) => !file.startsWith(`modules/${OWNERS[table] ?? ''}/`))).toEqual([])
  expect(new Set(writes.map(({ table }) => table))).toEqual(new Set(Object.keys(OWNERS)))
})

// The audit checks the modules, so it must not read through their fragments.
it('a table is read by the module that owns it, through the fragments of that module, and by the audit', async () => {
  const reads = (await findTableReads(SOURCES, tables)).filter(
    ({ file }) => !file.startsWith('features/audit-money/')
  )
  const foreign = reads.filter(({ file, table }) => !file.startsWith(`modules/${OWNERS[table] ?? ''}/`))
  // The modules that own the payments hand it their tables, which is found where they do.
  expect(foreign).toEqual([
    { file: 'modules/newest-payments.ts', table: COMPUTED },
    { file: 'modules/newest-payments.ts', table: COMPUTED }
  ])
  const others = Object.keys(OWNERS).filter((table) => table !== READ_BY_THE_AUDIT_ALONE)
  expect(new Set(reads.map(({ table }) => table))).toEqual(new Set([...others, COMPUTED]))
})

// Of two changes of one row in one statement only one takes effect, silently.
it('a table is written by one part of a statement, or by parts that never touch the same row', async () => {
  /** Statements that write a table with several parts, and why these parts never touch the same row. */
  const disjoint: Readonly<Record<string, string>> = {
    'lock-event-log: event_epoch': 'an epoch is inserted if there is none to be met for the first time',
    'lease-webhook-endpoints: webhook_endpoint':
      'leases that are held are renewed, and only others are taken',
    'record-webhook-deliveries: webhook_delivery':
      'rows of events that were delivered go, and those of events that were not are written',
    'persist-outgoing-payments: grant_reservation':
      'a payment is persisted if it is payable, and refused if it is not; both are inserted',
    'persist-refunding-payment: grant_reservation':
      'a payment is persisted if it is payable, and refused if it is not; both are inserted',
    'persist-refunding-payment: outgoing_payment':
      'the payment is inserted, and the one that it refunds, which has ended, is updated',
    'decline-outgoing-payment: outgoing_payment':
      'the payment awaited approval, and the one that it was to refund has ended',
    'decline-overdue-payments: outgoing_payment':
      'the payments awaited approval, and those that they were to refund have ended',
    'rotate-peer-token: peer_token': 'one is inserted or taken back into use, and only others end',
    'save-provider-grant: provider_grant': 'one is saved, and only others are dropped',
    'write-packets: sent_packet':
      'packets that were written before are answered, and those that were not are inserted',
    'settle-outgoing-payments: transfer':
      'holds that were there are ended; transfers that were not are inserted',
    'doubt-approvals: sent_packet':
      'packets that are unknown are changed, and those of nothing known inserted',
    'doubt-sendings: sent_packet': 'the same',
    'keep-frozen-clients: frozen_client': 'rows are deleted if they are not listed, and inserted if they are',
    'purge-quotes: quote': 'a row is put off or deleted by whether its instant is before the cutoff',
    'purge-incoming-payments: incoming_payment':
      'a row is put off or deleted by whether its instant is before the cutoff'
  }
  const twice = statements.flatMap(({ name, text }) =>
    findTablesWrittenTwice(text).map((table) => `${name}: ${table}`)
  )
  expect(twice.sort()).toEqual(Object.keys(disjoint).sort())
})

it('no row of a table is deleted with one of another module, but for what belongs to it', async () => {
  expect(await findForeignCascades(`${PRISMA}migrations/`, OWNERS)).toEqual([])
})

// What changes and is not told, nobody learns.
it('a statement that changes something appends an event, or nobody needs to know', async () => {
  /** Statements that append none, and why. */
  const silent: Readonly<Record<string, string>> = {
    'accept-payments': 'the operator who does it knows; the record says who it was, and why',
    'create-approval-rule': 'the operator who does it knows; each payment that meets it is told',
    'keep-frozen-clients': 'the auth server, which decides it, tells of it',
    'begin-sending-payments': 'the payment stays pending: how it is sent is told with its end',
    'begin-sending-within-limits': 'the same',
    'doubt-approvals': 'the payment awaits approval as before: the decision about it is told',
    'doubt-sendings': 'the payment stays pending: the decision about it is told, or its end',
    'end-sending': 'the statement after it, in the same transaction, tells of the end of the payment',
    'ensure-asset': 'an asset elsewhere changes nothing here',
    'forget-provider-grant': "what this provider holds elsewhere is nobody else's concern",
    'lease-payments-to-send': "which process sends a payment is nobody's concern",
    'save-provider-grant': "what this provider holds elsewhere is nobody else's concern",
    'count-payment-hours': 'it counts what events told',
    'claim-reservation-outcomes': "when to try again to tell the auth server is nobody else's concern",
    'close-days-of-peers': 'it adds up what packets and settlements told',
    'create-peer': 'the operator who does it knows',
    'create-quotes': 'its client has it in its hands; that it expires is told',
    deposit: 'the operator who does it knows; the receiver of a payment is told by its events',
    'deliver-outcomes-again': 'that the auth server is told again is between the two services',
    'give-up-lost-payments': 'an id without a payment is known to nobody',
    'give-up-payment-id': 'an id without a payment is known to nobody',
    'give-up-payment-ids': 'an id without a payment is known to nobody',
    'mark-outcomes-delivered': 'that the auth server was told is between the two services',
    'meet-timeline': 'the epoch of the events tells it, or whoever restored the database knows',
    'purge-incoming-payments': 'it expired, and that was told',
    'purge-quotes': 'it expired, and that was told',
    'rotate-peer-token': 'the operator who does it knows, and the peer, with whom it was agreed',
    'update-peer': 'the operator who does it knows',
    withdraw: 'the operator who does it knows'
  }
  /** The same, of writes by Prisma's models. */
  const silentModels: Readonly<Record<string, string>> = {
    'modules/approvals/rules.ts: approval_rule': 'the operator who deletes it knows',
    'modules/ledger/assets.ts: asset': 'the operator who creates it knows',
    'modules/wallet-addresses/administration.ts: wallet_address': 'the operator who creates it knows'
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
