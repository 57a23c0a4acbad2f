import { fileURLToPath } from 'node:url'
import { createPool, type DatabasePool, inTransaction } from '@open-payments-server/database'
import { createTestDatabase, type TestDatabase } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createResourceUrls } from '../src/domain/resource-urls.js'
import { claimPayments, writeBatch } from '../src/features/process-outgoing-payments/process-batch.js'
import { settleBatch, type SettledBatch } from '../src/features/process-outgoing-payments/settle-batch.js'
import { createProviderAccounts } from '../src/modules/ledger/index.js'
import { openDatabase } from './support/open-database.js'

const NOW_MS = Date.UTC(2026, 0, 1)
const NOW = new Date(NOW_MS).toISOString()
/** Before the database's now: whatever a statement writes by the database's clock is later. */
const EARLIER = '2020-01-01T00:00:00.000Z'
const URLS = createResourceUrls('https://wallet.example')
const ASSETS = [
  { id: 1, code: 'USD', scale: 2 },
  { id: 2, code: 'EUR', scale: 2 }
]
const PROVIDER_KINDS = ['outside', 'clearing', 'exchange', 'fees']
/** Initial balance of each wallet. */
const BALANCE = 10_000

/** A database in which batches are settled. */
interface Ledger {
  readonly database: TestDatabase
  readonly pool: DatabasePool
}

let composed: Ledger
let plain: Ledger

beforeAll(async () => {
  ;[composed, plain] = await Promise.all([openLedger(), openLedger()])
})
afterAll(async () => {
  for (const { pool, database } of [composed, plain]) {
    await pool.end()
    await database.drop()
  }
})

async function openLedger(): Promise<Ledger> {
  const prisma = fileURLToPath(new URL('../prisma/', import.meta.url))
  const database = await createTestDatabase({
    migrationsPath: `${prisma}migrations`
  })
  const pool = createPool({
    url: database.url,
    connectionsMax: 1,
    applicationName: 'settle-together-test',
    statementTimeoutMs: 5_000,
    connectTimeoutMs: 60_000
  })
  return { database, pool }
}

/** What a receiver can take; each wallet has one of each kind. */
const RECEIVERS = {
  open: { incoming_value: null, received_value: 0, completed: false, expires_at: '2030-01-01T00:00:00Z' },
  'nearly full': {
    incoming_value: 100,
    received_value: 70,
    completed: false,
    expires_at: '2030-01-01T00:00:00Z'
  },
  completed: { incoming_value: 100, received_value: 5, completed: true, expires_at: '2030-01-01T00:00:00Z' },
  expired: { incoming_value: 100, received_value: 5, completed: false, expires_at: NOW }
} as const
const RECEIVER_KINDS = ['open', 'nearly full', 'completed', 'expired', 'missing'] as const

/** Wallets by number: the first two in one asset, the others in another. */
const WALLETS = [0, 1, 2, 3] as const
type Wallet = (typeof WALLETS)[number]
const assetOf = (wallet: Wallet): number => (wallet < 2 ? 1 : 2)

interface PaymentDraft {
  readonly from: Wallet
  readonly to: Wallet
  readonly receiver: (typeof RECEIVER_KINDS)[number]
  /** The debit without the fee. */
  readonly net: number
  readonly fee: number
  /** What is received of another asset. */
  readonly converted: number
  readonly held: boolean
  /** Number of payments of a kind. */
  readonly count: number
}

const batches: fc.Arbitrary<readonly PaymentDraft[]> = fc.array(
  fc.record<PaymentDraft>({
    from: fc.constantFrom(...WALLETS),
    to: fc.constantFrom(...WALLETS),
    receiver: fc.constantFrom('open', 'open', 'nearly full', ...RECEIVER_KINDS),
    net: fc.integer({ min: 1, max: 60 }),
    fee: fc.constantFrom(0, 0, 1, 7),
    converted: fc.integer({ min: 1, max: 60 }),
    held: fc.constantFrom(true, true, true, true, false),
    count: fc.constantFrom(1, 1, 1, 2)
  }),
  { minLength: 1, maxLength: 12 }
)

const ORDINARY: PaymentDraft = {
  from: 0,
  to: 1,
  receiver: 'open',
  net: 10,
  fee: 1,
  converted: 20,
  held: true,
  count: 1
}
/** Each pays the other, in one asset and across two. */
const CYCLES: readonly PaymentDraft[] = [
  ORDINARY,
  { ...ORDINARY, from: 1, to: 0 },
  { ...ORDINARY, from: 0, to: 2 },
  { ...ORDINARY, from: 2, to: 0 }
]
const TO_ITSELF: readonly PaymentDraft[] = [
  { ...ORDINARY, to: 0 },
  { ...ORDINARY, to: 0, count: 2 }
]
/** The first fits, the second in part, the third not. */
const FILLING: readonly PaymentDraft[] = [{ ...ORDINARY, receiver: 'nearly full', net: 20, count: 3 }]
const NOTHING_SENT: readonly PaymentDraft[] = [
  { ...ORDINARY, receiver: 'completed' },
  { ...ORDINARY, receiver: 'expired' },
  { ...ORDINARY, receiver: 'missing' },
  { ...ORDINARY, held: false }
]

/** An id (UUID) that a kind of rows counts up. */
const idOf = (kind: number, number: number): string =>
  `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(number).padStart(12, '0')}`
const walletAccount = (wallet: Wallet): string => idOf(1, wallet)
const providerAccount = (assetId: number, kind: string): string =>
  idOf(2, assetId * 10 + PROVIDER_KINDS.indexOf(kind))
const walletAddressOf = (wallet: Wallet): string => idOf(3, wallet)
const receiverOf = (wallet: Wallet, kind: PaymentDraft['receiver']): string =>
  idOf(4, wallet * 10 + RECEIVER_KINDS.indexOf(kind))
const paymentId = (number: number): string => idOf(5, number)

/** The initial rows of every table. */
function rowsOf(drafts: readonly PaymentDraft[]): readonly (readonly [table: string, rows: object[]])[] {
  const payments = drafts
    .flatMap((draft) => Array.from({ length: draft.count }, () => draft))
    .map((draft, index) => {
      const { from, to, net, fee, converted } = draft
      const receive = assetOf(from) === assetOf(to) ? net : converted
      return { ...draft, id: paymentId(index), debit: net + fee, receive }
    })
  const account = (assetId: number) => {
    const { code, scale } = ASSETS[assetId - 1] ?? { code: '', scale: 0 }
    return { asset_id: assetId, asset_code: code, asset_scale: scale, created_at: EARLIER }
  }
  const transfer = (assetId: number) => ({ asset_id: assetId, created_at: EARLIER })
  return [
    ['asset', ASSETS],
    [
      'account',
      [
        ...WALLETS.map((wallet) => ({
          ...account(assetOf(wallet)),
          id: walletAccount(wallet),
          kind: 'wallet',
          name: `wallet ${String(wallet)}`,
          debits_posted: 0,
          credits_posted: BALANCE,
          debits_pending: payments
            .filter(({ from, held }) => held && from === wallet)
            .reduce((sum, { debit }) => sum + debit, 0)
        })),
        ...ASSETS.flatMap(({ id }) =>
          PROVIDER_KINDS.map((kind) => ({
            ...account(id),
            id: providerAccount(id, kind),
            kind,
            name: null,
            debits_posted: 0,
            credits_posted: 0,
            debits_pending: 0
          }))
        )
      ]
    ],
    [
      'wallet_address',
      WALLETS.map((wallet) => ({
        id: walletAddressOf(wallet),
        path: `/${String(wallet)}`,
        account_id: walletAccount(wallet),
        created_at: EARLIER,
        updated_at: EARLIER
      }))
    ],
    [
      'incoming_payment',
      WALLETS.flatMap((wallet) =>
        (['open', 'nearly full', 'completed', 'expired'] as const).map((kind) => ({
          ...RECEIVERS[kind],
          id: receiverOf(wallet, kind),
          wallet_address_id: walletAddressOf(wallet),
          client: 'https://client.example',
          shared_secret_key_id: 'key',
          created_at: EARLIER,
          updated_at: EARLIER,
          alive_until: EARLIER
        }))
      )
    ],
    [
      'outgoing_payment',
      payments.map(({ id, from, to, receiver, debit, fee, receive }) => ({
        id,
        wallet_address_id: walletAddressOf(from),
        client: 'https://client.example',
        grant_id: id,
        receiver: URLS.of('incoming-payments', receiverOf(to, receiver)),
        debit_value: debit,
        fee_value: fee,
        receive_value: receive,
        receive_asset_id: assetOf(to),
        state: 'pending',
        settled_debit_value: 0,
        settled_receive_value: 0,
        grant_spent_debit_value: debit,
        grant_spent_receive_value: receive,
        request_hash: '\\x00',
        signature_id: id,
        created_at: EARLIER,
        updated_at: EARLIER
      }))
    ],
    [
      'grant_reservation',
      payments.map(({ id, fee }) => ({
        payment_id: id,
        fee_value: fee,
        charged_at: EARLIER,
        outcome_since: EARLIER,
        attempts: 0,
        next_attempt_at: EARLIER,
        created_at: EARLIER
      }))
    ],
    [
      'transfer',
      [
        ...WALLETS.map((wallet) => ({
          ...transfer(assetOf(wallet)),
          id: idOf(6, wallet),
          kind: 'deposit',
          state: 'posted',
          payment_id: null,
          debit_account_id: providerAccount(assetOf(wallet), 'outside'),
          debit_account_kind: 'outside',
          credit_account_id: walletAccount(wallet),
          credit_account_kind: 'wallet',
          amount: BALANCE,
          posted_amount: BALANCE,
          ended_at: EARLIER
        })),
        ...payments
          .filter(({ held }) => held)
          .map(({ id, from, debit }) => ({
            ...transfer(assetOf(from)),
            id,
            kind: 'payment',
            state: 'pending',
            payment_id: id,
            debit_account_id: walletAccount(from),
            debit_account_kind: 'wallet',
            credit_account_id: providerAccount(assetOf(from), 'clearing'),
            credit_account_kind: 'clearing',
            amount: debit,
            posted_amount: null,
            ended_at: null
          }))
      ]
    ]
  ]
}

/** Replaces everything in a database. */
async function setUp({ database }: Ledger, drafts: readonly PaymentDraft[]): Promise<void> {
  const tables = rowsOf(drafts)
  await database.query(`truncate ${tables.map(([table]) => table).join(', ')} cascade`)
  for (const [table, rows] of tables) {
    const columns = Object.keys(rows[0] ?? {}).join(', ')
    await database.query(
      `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(rows)]
    )
  }
}

/** Settles all payments that are pending, as the service does. */
function settleComposed({ pool }: Ledger): Promise<SettledBatch> {
  return inTransaction(openDatabase(pool), async (transaction) => {
    const { payments, receivers } = await claimPayments(
      transaction,
      { limit: 100, holdsFrozen: true, nowMs: NOW_MS },
      URLS
    )
    const assetIds = ASSETS.map(({ id }) => id)
    const provider = await createProviderAccounts().find(transaction, assetIds)
    const batch = settleBatch(payments, receivers, provider, NOW_MS)
    let count = 0
    await writeBatch(transaction, batch, () => idOf(7, count++), NOW_MS)
    return batch
  })
}

/**
 * Writes the same endings and transfers with one simple statement for each table. The totals of accounts and receivers are
 * not those of the batch: they are summed anew from all transfers.
 */
async function settlePlainly({ database }: Ledger, { endings, transfers }: SettledBatch): Promise<void> {
  const ended = JSON.stringify(
    endings.map(({ id, settlement: { state, failureReason, settledDebitValue, settledReceiveValue } }) => ({
      id,
      state,
      failure_reason: failureReason,
      sent: String(settledDebitValue),
      delivered: String(settledReceiveValue)
    }))
  )
  const asEnded = `json_to_recordset($1) as e(id uuid, state outgoing_payment_state, failure_reason outgoing_payment_failure_reason, sent numeric,
    delivered numeric)`
  await database.inTransaction(async (query) => {
    await query(
      `update outgoing_payment p set state = e.state, failure_reason = e.failure_reason, settled_debit_value = e.sent,
         settled_receive_value = e.delivered, updated_at = $2 from ${asEnded} where p.id = e.id`,
      [ended, NOW]
    )
    await query(
      `update grant_reservation r set outcome = 'settle', settled_debit_value = e.sent, settled_receive_value = e.delivered,
         outcome_since = now(), next_attempt_at = now() from ${asEnded} where r.payment_id = e.id and e.sent > 0`,
      [ended]
    )
    await query(
      `update grant_reservation r set outcome = 'release', outcome_since = now(), next_attempt_at = now()
         from ${asEnded} where r.payment_id = e.id and e.sent = 0`,
      [ended]
    )
    await query(
      `update transfer t set state = 'posted', posted_amount = e.sent, ended_at = $2 from ${asEnded}
        where t.id = e.id and e.sent > 0`,
      [ended, NOW]
    )
    await query(
      `update transfer t set state = 'voided', ended_at = $2 from ${asEnded} where t.id = e.id and e.sent = 0`,
      [ended, NOW]
    )
    await query(
      `insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
         credit_account_kind, asset_id, amount, posted_amount, incoming_payment_id, created_at, ended_at)
       select t.id, t.kind, 'posted', t.payment_id, debit.id, debit.kind, credit.id, credit.kind, t.asset_id, t.amount,
              t.amount, t.incoming_payment_id, $2, $2
         from json_populate_recordset(null::transfer, $1) t
         join account debit on debit.id = t.debit_account_id
         join account credit on credit.id = t.credit_account_id`,
      [
        JSON.stringify(
          transfers.map((transfer, index) => ({
            id: idOf(7, index),
            kind: transfer.kind,
            payment_id: transfer.paymentId,
            debit_account_id: transfer.debitAccountId,
            credit_account_id: transfer.creditAccountId,
            asset_id: transfer.assetId,
            amount: String(transfer.amount),
            incoming_payment_id: transfer.incomingPaymentId
          }))
        ),
        NOW
      ]
    )
    await query(
      `update account a set
         debits_pending = (select coalesce(sum(amount), 0) from transfer where debit_account_id = a.id and state = 'pending'),
         debits_posted = (select coalesce(sum(posted_amount), 0) from transfer where debit_account_id = a.id),
         credits_posted = (select coalesce(sum(posted_amount), 0) from transfer where credit_account_id = a.id)
        where kind = 'wallet'`
    )
    await query(
      `update incoming_payment i set received_value = received_value + t.sum, updated_at = $1,
         completed = completed or coalesce(received_value + t.sum = incoming_value, false)
         from (select incoming_payment_id as id, sum(amount) from transfer group by 1) t where i.id = t.id`,
      [NOW]
    )
  })
}

/** All rows of all tables. Timestamps of the database's clock show only whether they were written. */
async function contents({ database }: Ledger): Promise<unknown> {
  const tables = ['outgoing_payment', 'transfer', 'account', 'incoming_payment', 'wallet_address', 'asset']
  return Promise.all([
    ...tables.map((table) => database.query(`select * from ${table} order by id`)),
    database.query(
      `select to_jsonb(r) || jsonb_build_object('outcome_since', outcome_since > created_at,
                                                'next_attempt_at', next_attempt_at > created_at) as entry
         from grant_reservation r order by payment_id`
    )
  ])
}

/** What kinds of payments were settled, by how they ended. */
function kindsOf({ endings, transfers }: SettledBatch): string[] {
  return [
    ...endings.map(({ held, settlement: { state, settledDebitValue } }) =>
      held ? `${state}, ${settledDebitValue > 0n ? 'sent' : 'nothing sent'}` : 'without a hold'
    ),
    ...transfers.map(({ kind }) => kind)
  ]
}

describe('payments that one statement settles', () => {
  it('leave the tables as plain statements would', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(batches, async (drafts) => {
        await Promise.all([setUp(composed, drafts), setUp(plain, drafts)])
        const batch = await settleComposed(composed)
        await settlePlainly(plain, batch)
        expect(batch.endings).toHaveLength(drafts.reduce((sum, { count }) => sum + count, 0))
        expect(await contents(composed)).toEqual(await contents(plain))
        for (const kind of kindsOf(batch)) seen.add(kind)
      }),
      { numRuns: 40, examples: [[CYCLES], [TO_ITSELF], [FILLING], [NOTHING_SENT]] }
    )
    expect([...seen].sort()).toEqual([
      'completed, sent',
      'conversion',
      'delivery',
      'failed, nothing sent',
      'failed, sent',
      'fee',
      'without a hold'
    ])
  })
})

describe('a batch that changes another number of rows than it must', () => {
  const ONE = paymentId(0)
  it.each<[what: string, meanwhile: string | undefined, batch: (batch: SettledBatch) => SettledBatch]>([
    [
      'payments',
      `update outgoing_payment set state = 'failed', failure_reason = 'receiver_full' where id = '${ONE}'`,
      (batch) => batch
    ],
    [
      'reservations',
      `update grant_reservation set outcome = 'release' where payment_id = '${ONE}'`,
      (batch) => batch
    ],
    ['holds', `update transfer set state = 'voided', ended_at = now() where id = '${ONE}'`, (batch) => batch],
    [
      'totals',
      undefined,
      ({ totals, ...batch }) => {
        const unknown = { accountId: idOf(9, 0), debitsPending: 0n, debitsPosted: 0n, creditsPosted: 0n }
        return { ...batch, totals: [...totals, unknown] }
      }
    ],
    [
      'receivers',
      undefined,
      ({ received, ...batch }) => ({ ...batch, received: new Map([...received, [idOf(9, 0), 1n]]) })
    ]
  ])('is not written, without a transaction either: %s', async (what, meanwhile, changed) => {
    await setUp(composed, CYCLES)
    const database = openDatabase(composed.pool)
    const assetIds = ASSETS.map(({ id }) => id)
    const { payments, receivers } = await claimPayments(
      database,
      { limit: 100, holdsFrozen: true, nowMs: NOW_MS },
      URLS
    )
    const provider = await createProviderAccounts().find(database, assetIds)
    const batch = changed(settleBatch(payments, receivers, provider, NOW_MS))
    if (meanwhile !== undefined) await composed.database.query(meanwhile)
    const before = await contents(composed)
    let count = 0
    await expect(writeBatch(database, batch, () => idOf(7, count++), NOW_MS)).rejects.toThrow(
      new RegExp(`settling must change \\d ${what}, and would change \\d`)
    )
    expect(await contents(composed)).toEqual(before)
  })
})
