import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createPool, type DatabasePool } from '@open-payments-server/database'
import { createLogger, type ItemResult } from '@open-payments-server/runtime'
import { createTestDatabase, type TestDatabase, type TestQuery } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { roomOf } from '../src/domain/receiver.js'
import { type PersistResult, persistTogether } from '../src/features/create-outgoing-payment/persist.js'
import type { NewPayment } from '../src/modules/outgoing-payments/index.js'
import { openDatabase } from './support/open-database.js'

const NOW_MS = Date.UTC(2026, 0, 1)
const USD = 1
const logger = createLogger({ service: 'test', level: 'silent' })
/** Called for each statement that was rolled back. */
const undone = jest.spyOn(logger, 'warn')

/** A database in which payments are persisted, and how. */
interface Ledger {
  readonly database: TestDatabase
  readonly pool: DatabasePool
}

let together: Ledger
let oneByOne: Ledger
let plain: Ledger

beforeAll(async () => {
  ;[together, oneByOne, plain] = await Promise.all([openLedger(), openLedger(), openLedger()])
})
afterAll(async () => {
  for (const { pool, database } of [together, oneByOne, plain]) {
    await pool.end()
    await database.drop()
  }
})

async function openLedger(): Promise<Ledger> {
  const prisma = fileURLToPath(new URL('../prisma/', import.meta.url))
  const database = await createTestDatabase({
    migrationsPath: `${prisma}migrations`
  })
  await database.query(`insert into asset (code, scale) values ('USD', 2)`)
  await database.query(
    `insert into account (id, kind, asset_id, asset_code, asset_scale) values ($1, 'clearing', ${String(USD)}, 'USD', 2)`,
    ['00000000-0000-4000-8000-000000000000']
  )
  // Payments that are persisted one by one keep their order.
  return { database, pool: openPool(database, 1) }
}

const openPool = ({ url }: TestDatabase, connectionsMax: number): DatabasePool =>
  createPool({
    url,
    connectionsMax,
    applicationName: 'persist-together-test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 60_000
  })

const persist = ({ pool }: Ledger, payments: readonly NewPayment[]) =>
  persistTogether(payments, {
    database: openDatabase(pool),
    logger,
    clock: { now: () => NOW_MS },
    approvalTimeoutSeconds: 60
  })

/** The initial data of a round, the same in all databases. */
interface Scene {
  readonly balances: readonly number[]
  readonly payments: readonly PaymentDraft[]
}

interface PaymentDraft {
  readonly sender: number
  readonly receiver: ReceiverKind
  readonly debit: number
  readonly quote: number | undefined
  readonly earlier: 'nothing' | 'a payment' | 'a tombstone'
  /** Whether it repeats the payment before, or is another of the same signed request. */
  readonly twin: 'of nobody' | 'by id' | 'by signed request'
  readonly metadata: 'none' | 'some' | 'unreadable'
}

const RECEIVERS = {
  open: { incomingValue: null, receivedValue: 0, completed: false, expiresAtMs: NOW_MS + 1 },
  'room for 50': { incomingValue: 100, receivedValue: 50, completed: false, expiresAtMs: NOW_MS + 1 },
  completed: { incomingValue: null, receivedValue: 0, completed: true, expiresAtMs: NOW_MS + 1 },
  expired: { incomingValue: null, receivedValue: 0, completed: false, expiresAtMs: NOW_MS }
} as const
type ReceiverKind = keyof typeof RECEIVERS

const often = <Value>(usual: Value, ...others: Value[]): fc.Arbitrary<Value> =>
  fc.oneof(
    { weight: 24, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) }
  )

const scenes: fc.Arbitrary<Scene> = fc.record({
  balances: fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 3, maxLength: 3 }),
  payments: fc.array(
    fc.record<PaymentDraft>({
      sender: fc.nat(2),
      receiver: fc.constantFrom<ReceiverKind>('open', 'open', 'open', 'room for 50', 'completed', 'expired'),
      debit: fc.integer({ min: 2, max: 100 }),
      quote: fc.option(fc.nat(4), { nil: undefined, freq: 2 }),
      earlier: often<PaymentDraft['earlier']>('nothing', 'a payment', 'a tombstone'),
      twin: often<PaymentDraft['twin']>('of nobody', 'by id', 'by signed request'),
      metadata: often<PaymentDraft['metadata']>('none', 'some', 'some', 'some', 'unreadable')
    }),
    { minLength: 2, maxLength: 24 }
  )
})

/** Whether this one may make the common statement fail. */
const spoils = ({ earlier, metadata }: PaymentDraft): boolean =>
  earlier === 'a tombstone' || metadata === 'unreadable'

const ORDINARY: PaymentDraft = {
  sender: 0,
  receiver: 'open',
  debit: 10,
  quote: undefined,
  earlier: 'nothing',
  twin: 'of nobody',
  metadata: 'none'
}

/** Requests that each came twice, and the money for all of them. */
const TWINS: Scene = {
  balances: [300, 0, 0],
  payments: [ORDINARY, { ...ORDINARY, twin: 'by id' }, ORDINARY, { ...ORDINARY, twin: 'by signed request' }]
}

/** Receivers without room, beside one with room. */
const NOT_PAYABLE: Scene = {
  balances: [300, 0, 0],
  payments: [ORDINARY, { ...ORDINARY, receiver: 'completed' }, { ...ORDINARY, receiver: 'expired' }]
}

/** One that makes the common statement fail. */
const SPOILT: Scene = {
  balances: [300, 0, 0],
  payments: [ORDINARY, { ...ORDINARY, metadata: 'unreadable' }, ORDINARY]
}

/** Writes the initial data of a scene into all databases. */
async function setUp(scene: Scene): Promise<NewPayment[]> {
  const accounts = scene.balances.map((balance) => ({ id: randomUUID(), walletId: randomUUID(), balance }))
  const receivers = new Map(Object.keys(RECEIVERS).map((kind) => [kind, randomUUID()]))
  const quotes = Array.from({ length: 5 }, () => randomUUID())
  const payments: NewPayment[] = []
  for (const draft of scene.payments) {
    const before = payments.at(-1)
    if (draft.twin === 'by id' && before !== undefined) {
      payments.push({ ...before })
      continue
    }
    const account = accounts[draft.sender]
    const incomingPaymentId = receivers.get(draft.receiver)
    if (account === undefined || incomingPaymentId === undefined) throw new Error('the scene is not whole')
    payments.push({
      id: randomUUID(),
      signatureId: (draft.twin !== 'of nobody' && before?.signatureId) || randomUUID(),
      requestHash: Buffer.from([0, 92, 120, 255]),
      walletAddressId: account.walletId,
      accountId: account.id,
      client: `https://client.example/"\\'`,
      grantId: randomUUID(),
      refund: undefined,
      terms: {
        amounts: { debitValue: BigInt(draft.debit), feeValue: 1n, receiveValue: BigInt(draft.debit - 1) },
        receiver: {
          url: `https://wallet.example/incoming-payments/${incomingPaymentId}`,
          incomingPaymentId,
          asset: { code: 'USD', scale: 2 },
          assetId: USD
        },
        quoteId: draft.quote === undefined ? undefined : quotes[draft.quote],
        sending: undefined,
        beginUntilMs: undefined
      },
      grantSpentDebitValue: 18_446_744_073_709_551_615n,
      grantSpentReceiveValue: 7n,
      chargedAtMs: Date.now(),
      unpayableCause: 'receiver-not-payable',
      metadata: METADATA[draft.metadata]
    })
  }
  for (const ledger of [together, oneByOne, plain]) {
    const { database } = ledger
    for (const { id, walletId, balance } of accounts) {
      await database.query(
        `insert into account (id, kind, name, asset_id, asset_code, asset_scale, credits_posted)
         values ($1, 'wallet', gen_random_uuid()::text, ${String(USD)}, 'USD', 2, $2)`,
        [id, balance]
      )
      await database.query(
        `insert into wallet_address (id, path, account_id) values ($1, gen_random_uuid()::text, $2)`,
        [walletId, id]
      )
    }
    for (const [kind, receiver] of Object.entries(RECEIVERS)) {
      await database.query(
        `insert into incoming_payment (id, wallet_address_id, client, incoming_value, received_value, completed, expires_at,
           shared_secret_key_id, created_at, updated_at) values ($1, $2, 'c', $3, $4, $5, $6, 'key', $6, $6)`,
        [
          receivers.get(kind),
          accounts[0]?.walletId,
          receiver.incomingValue,
          receiver.receivedValue,
          receiver.completed,
          new Date(receiver.expiresAtMs)
        ]
      )
    }
    for (const [index, { earlier, sender }] of scene.payments.entries()) {
      const payment = payments[index]
      if (payment === undefined || earlier === 'nothing') continue
      // A twin may already exist.
      if (earlier === 'a tombstone') {
        await database.query(
          `insert into grant_reservation (payment_id, outcome) values ($1, 'release') on conflict do nothing`,
          [payment.id]
        )
      } else {
        const open = { ...payment, walletAddressId: accounts[sender]?.walletId ?? '', metadata: undefined }
        await persist(ledger, [open])
      }
    }
  }
  return payments
}

const METADATA: Readonly<Record<PaymentDraft['metadata'], NewPayment['metadata']>> = {
  none: undefined,
  some: { order: 1, text: 'a "quoted" \\ text', deep: [null, { large: 12345678901234 }] },
  // PostgreSQL cannot store it.
  unreadable: { text: '\u0000' }
}

/** Everything that persisting writes, in one order. */
async function contents({ database }: Ledger, payments: readonly NewPayment[]): Promise<unknown> {
  const ids = [payments.map(({ id }) => id)]
  return Promise.all([
    database.query('select * from outgoing_payment where id = any($1) order by id', ids),
    database.query(
      `select payment_id, outcome, quote_id, fee_value, charged_at, held, given_up_cause from grant_reservation
        where payment_id = any($1) order by payment_id`,
      ids
    ),
    database.query('select * from transfer where id = any($1) order by id', ids),
    database.query(
      'select id, debits_pending, debits_posted, credits_posted from account where id = any($1) order by id',
      [payments.map(({ accountId }) => accountId)]
    )
  ])
}

const nameOf = (result: ItemResult<PersistResult>): string =>
  result.status === 'fulfilled' ? result.value.kind : 'failed'

/** Results of payments that were persisted by simple statements: all together, or each in its own transaction. */
async function persistPlainly(
  { database }: Ledger,
  payments: readonly NewPayment[]
): Promise<ReadonlyMap<NewPayment, string>> {
  const separate = undone.mock.calls.length > 0
  const results = new Map<NewPayment, string>()
  for (const batch of separate ? payments.map((payment) => [payment]) : [payments]) {
    try {
      const written = await database.inTransaction((query) => writePlainly(query, batch))
      for (const [payment, result] of written) results.set(payment, result)
    } catch {
      for (const payment of batch) results.set(payment, 'failed')
    }
  }
  return results
}

async function writePlainly(
  query: TestQuery,
  payments: readonly NewPayment[]
): Promise<ReadonlyMap<NewPayment, string>> {
  const results = new Map<NewPayment, string>(payments.map((payment) => [payment, 'taken']))
  const metadata = payments.map((payment) => JSON.stringify(payment.metadata ?? null))
  await query('select $1::jsonb[]', [metadata])
  const known = await query<{ payment_id: string }>('select payment_id from grant_reservation')
  const taken = new Set(known.map(({ payment_id: id }) => id))
  const fresh: NewPayment[] = []
  for (const payment of payments) {
    if (!taken.has(payment.id)) fresh.push(payment)
    taken.add(payment.id)
  }
  const receivers = await query<StoredReceiver>('select * from incoming_payment')
  const isPayable = ({ terms }: NewPayment): boolean => {
    const found = receivers.find(({ id }) => id === terms.receiver.incomingPaymentId)
    return found !== undefined && canTakeNow(found, terms.amounts.receiveValue)
  }
  const inserted: NewPayment[] = []
  for (const payment of fresh.filter(isPayable).toSorted(byQuote)) {
    if (await insertPayment(query, payment)) inserted.push(payment)
  }
  for (const payment of inserted.toSorted(byDebit)) {
    const held = await holdIfCovered(query, payment)
    await query(
      'insert into grant_reservation (payment_id, quote_id, fee_value, charged_at, held) values ($1, $2, $3, $4, $5)',
      [payment.id, payment.terms.quoteId, payment.terms.amounts.feeValue, new Date(payment.chargedAtMs), held]
    )
    results.set(payment, 'persisted')
  }
  for (const payment of fresh.filter((each) => !isPayable(each))) {
    await query(
      `insert into grant_reservation (payment_id, outcome, given_up_cause) values ($1, 'release', 'receiver_not_payable')`,
      [payment.id]
    )
    results.set(payment, 'receiver-not-payable')
  }
  return results
}

interface StoredReceiver {
  readonly id: string
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
}

function canTakeNow(found: StoredReceiver, value: bigint): boolean {
  const { completed, expired, room } = roomOf(
    {
      incomingValue: found.incoming_value === null ? undefined : BigInt(found.incoming_value),
      receivedValue: BigInt(found.received_value),
      completed: found.completed,
      expiresAtMs: found.expires_at.getTime()
    },
    NOW_MS
  )
  return !completed && !expired && room >= value
}

/** @returns false when its id, its signed request or its quote is taken */
async function insertPayment(query: TestQuery, payment: NewPayment): Promise<boolean> {
  const { amounts, receiver, quoteId } = payment.terms
  const now = new Date(NOW_MS)
  const columns = {
    id: payment.id,
    signature_id: payment.signatureId,
    request_hash: payment.requestHash,
    wallet_address_id: payment.walletAddressId,
    client: payment.client,
    grant_id: payment.grantId,
    quote_id: quoteId,
    receiver: receiver.url,
    debit_value: amounts.debitValue,
    fee_value: amounts.feeValue,
    receive_value: amounts.receiveValue,
    receive_asset_id: receiver.assetId,
    state: 'pending',
    metadata: payment.metadata,
    grant_spent_debit_value: payment.grantSpentDebitValue,
    grant_spent_receive_value: payment.grantSpentReceiveValue,
    created_at: now,
    updated_at: now
  }
  const places = Object.keys(columns).map((_, index) => `$${String(index + 1)}`)
  const changed = await query(
    `insert into outgoing_payment (${Object.keys(columns).join(', ')}) values (${places.join(', ')}) on conflict do nothing returning 1`,
    Object.values(columns)
  )
  return changed.length === 1
}

async function holdIfCovered(query: TestQuery, { id, accountId, terms }: NewPayment): Promise<boolean> {
  const changed = await query(
    `update account set debits_pending = debits_pending + $2
      where id = $1 and credits_posted - debits_posted - debits_pending >= $2
     returning 1`,
    [accountId, terms.amounts.debitValue]
  )
  if (changed.length === 0) return false
  await query(
    `insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
       credit_account_kind, asset_id, amount, created_at)
     select $1, 'payment', 'pending', $1, $2, 'wallet', clearing.id, 'clearing', clearing.asset_id, $3, $4
       from account clearing where kind = 'clearing'`,
    [id, accountId, terms.amounts.debitValue, new Date(NOW_MS)]
  )
  return true
}

/** By quote, those without one last, then by id. */
function byQuote(left: NewPayment, right: NewPayment): number {
  const keyOf = ({ id, terms }: NewPayment): string => `${terms.quoteId ?? 'without'} ${id}`
  return keyOf(left) < keyOf(right) ? -1 : 1
}

/** The smallest first, so that one that the account cannot cover takes nothing from the others. */
function byDebit(left: NewPayment, right: NewPayment): number {
  return (
    Number(left.terms.amounts.debitValue - right.terms.amounts.debitValue) || (left.id < right.id ? -1 : 1)
  )
}

const said = (result: ItemResult<PersistResult> | undefined): unknown =>
  result?.status === 'fulfilled' ? result.value : 'failed'

/** The order in which one by one gives the same result as together: winners first, then those that want the same. */
function inOrder(
  payments: readonly NewPayment[],
  results: readonly ItemResult<PersistResult>[]
): NewPayment[] {
  if (undone.mock.calls.length > 0) return [...payments]
  const rank = (payment: NewPayment): number => {
    const result = results[payments.indexOf(payment)]
    return result?.status === 'fulfilled' && result.value.kind === 'taken' ? 1 : 0
  }
  return payments.toSorted((left, right) => rank(left) - rank(right) || byDebit(left, right))
}

describe('payments that are persisted together', () => {
  it('are as if they were persisted one by one', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(scenes, async (scene) => {
        const payments = await setUp(scene)
        undone.mockClear()
        const results = await persist(together, payments)
        if (!scene.payments.some(spoils)) expect(undone).not.toHaveBeenCalled()
        const ordered = inOrder(payments, results)
        const alone = new Map<NewPayment, ItemResult<PersistResult> | undefined>()
        for (const payment of ordered) alone.set(payment, (await persist(oneByOne, [payment]))[0])
        expect(results.map(said)).toEqual(payments.map((payment) => said(alone.get(payment))))
        const written = await contents(together, payments)
        expect(written).toEqual(await contents(oneByOne, payments))
        const plainly = await persistPlainly(plain, payments)
        expect(results.map(nameOf)).toEqual(payments.map((payment) => plainly.get(payment)))
        expect(written).toEqual(await contents(plain, payments))
        const way = undone.mock.calls.length === 0 ? 'together' : 'after all one by one'
        for (const result of results) {
          seen.add(`${nameOf(result)}, ${way}`)
        }
      }),
      { numRuns: 40, examples: [[TWINS], [NOT_PAYABLE], [SPOILT]] }
    )
    const usual = ['persisted', 'receiver-not-payable', 'taken'].map((result) => `${result}, together`)
    expect([...seen]).toEqual(expect.arrayContaining([...usual, 'failed, after all one by one']))
  })

  it('insert every payment before they lock the first account, and lock accounts in the order of their ids', async () => {
    const scene: Scene = {
      balances: [300, 300, 300],
      payments: [0, 1, 2, 2].map((sender) => ({ ...ORDINARY, sender, quote: sender }))
    }
    const [first, second, third, rival] = (await setUp(scene)) as [
      NewPayment,
      NewPayment,
      NewPayment,
      NewPayment
    ]
    const batch = [first, second, third]
    const [lowest = '', middle = '', highest = ''] = batch.map(({ accountId }) => accountId).sort()
    const { database } = together
    const pool = openPool(database, 3)
    const beside = { ...together, pool }
    const holder = await pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select 1 from account where id = $1 for no key update', [middle])
      const results = persist(beside, batch.toReversed())
      await untilWaiting(database, 1)
      await expect(lockNow(database, lowest)).rejects.toMatchObject({ code: LOCK_NOT_AVAILABLE })
      await lockNow(database, highest)
      // It has the quote of a payment that already exists, so it waits and loses.
      const lost = persist(beside, [rival])
      await untilWaiting(database, 2)
      await holder.query('commit')
      expect((await results).map(said)).toEqual(
        batch.map(() => expect.objectContaining({ kind: 'persisted' }))
      )
      expect((await lost).map(said)).toEqual([{ kind: 'taken' }])
    } finally {
      holder.release(true)
      await pool.end()
    }
  })
})

/** PostgreSQL's error for a lock that is not available with `nowait`. */
const LOCK_NOT_AVAILABLE = '55P03'

/** Locks an account, for as long as the statement takes, unless somebody else has. */
const lockNow = (database: TestDatabase, id: string) =>
  database.query('select 1 from account where id = $1 for no key update nowait', [id])

/** Resolves once this many statements wait for locks. */
async function untilWaiting(database: TestDatabase, count: number): Promise<void> {
  for (;;) {
    const waiting = await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    )
    if (waiting.length === count) return
  }
}
