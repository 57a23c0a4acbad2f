import {
  isSerializationFailure,
  isUnavailable,
  isUniqueViolation,
  placeholder,
  Statement
} from '@open-payments-server/database'
import {
  BATCH_PATIENCE_MS,
  type Clock,
  fulfilled,
  gather,
  type Logger,
  type Outcome,
  rejected
} from '@open-payments-server/runtime'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { opened } from '../../modules/grant-outcomes/index.js'
import { canTake } from '../../modules/incoming-payments/index.js'
import { held } from '../../modules/ledger/index.js'
import { inserted, type NewPayment, wanted, wantedPayments } from '../../modules/outgoing-payments/index.js'

/** What persisting a payment came to. */
export type PersistOutcome =
  /** It exists. `metadata` is as it will be read again. */
  | {
      readonly outcome: 'persisted'
      readonly metadata: OutgoingPayment['metadata']
      readonly createdAtMs: number
    }
  /** The receiver cannot take it. The release of its reservation is recorded. */
  | { readonly outcome: 'receiver-not-payable' }
  /** Its id, its signed request or its quote is taken, or its id was given up. Nothing is recorded. */
  | { readonly outcome: 'taken' }

/** What persisting payments needs. */
export interface PersistDeps {
  readonly database: Queries
  readonly clock: Clock
  readonly logger: Logger
}

/** How often a statement that lost against another one is tried again. */
const RETRIES_MAX = 3

/** Most payments that one statement persists. */
const PAYMENTS_MAX = 100

/** Most statements at a time that persist payments, but for those that take long. */
const STATEMENTS_MAX = 2

/**
 * Persists payments, those that arrive together with one statement: whoever pays from an account would wait for each other's
 * commits. Payments from an account that somebody else keeps locked wait for that alone, and those from others do not.
 *
 * @returns persists one
 */
export function createPersist(deps: PersistDeps): (payment: NewPayment) => Promise<PersistOutcome> {
  return gather({
    runBatch: (payments) => persistTogether(payments, deps),
    itemsMax: PAYMENTS_MAX,
    batchesMax: STATEMENTS_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    wholeTurn: true,
    keyOf: ({ accountId }) => accountId
  })
}

interface PersistedRow {
  readonly id: string
  readonly persisted: boolean
  readonly metadata: Record<string, unknown> | null
}

// One statement, because a client's answer depends on all of it and a hot sender's account is locked meanwhile; the same for
// several payments as for one, each as if it had come alone. No order among them was promised to anybody.
// - The receiver must have room for the whole payment, or only the release of its reservation is recorded.
// - The payment's row among the outcomes is the tombstone's place too: after a tombstone, the primary key refuses it.
// - The hold is made where the money is there. Where it is not, the payment exists without one, and processing fails it.
// - Rows that others wait for are locked in one order: payments, then accounts by id, then outcomes by id. `placed` reads
//   `covered` for nothing else: PostgreSQL carries out parts that change something in whatever order it likes.
const PERSIST = new Statement<PersistedRow>(
  'persist-outgoing-payments',
  Prisma.sql`
  with ${wanted}, wanted as materialized (
    select asked.*, ${canTake({
      id: Prisma.sql`asked.incoming_payment_id`,
      value: Prisma.sql`asked.receive_value`,
      now: Prisma.sql`${placeholder('now')}::timestamptz`
    })} as payable
      from asked
  ), ${inserted}, holdable as (
    select id, account_id, debit_value from wanted join payment using (id)
  ), ${held}, placed as (
    select id from payment left join covered using (id)
  ), ${opened}
  select id, true as persisted, metadata from payment
   union all
  select payment_id, false, null from refused`
)

/**
 * Persists payments with one statement, or one by one where that one fails: what is wrong with one is not wrong with all.
 *
 * @throws Error when the database is unavailable: then it is not known which are persisted
 */
export async function persistTogether(
  payments: readonly NewPayment[],
  deps: PersistDeps
): Promise<readonly Outcome<PersistOutcome>[]> {
  try {
    return (await persistAll(payments, deps)).map(fulfilled)
  } catch (error) {
    // Whether they are persisted is not known: each gives its id up, or finds its payment.
    if (isUnavailable(error)) throw error
    if (payments.length === 1) return [rejected(error)]
    deps.logger.warn({ err: error, payments: payments.length }, 'payments not persisted together')
    return Promise.allSettled(payments.map((payment) => persistAlone(payment, deps)))
  }
}

async function persistAlone(payment: NewPayment, deps: PersistDeps): Promise<PersistOutcome> {
  const [outcome] = await persistAll([payment], deps)
  return outcome ?? { outcome: 'taken' }
}

/**
 * All or none: again, where the statement lost against another one.
 *
 * @throws whatever the database says; unless that is that it is unavailable, nothing is persisted then
 */
async function persistAll(
  payments: readonly NewPayment[],
  { database, clock }: PersistDeps
): Promise<readonly PersistOutcome[]> {
  // A request that came twice has one id: the first one's, and taken for the other.
  const firstOfId = new Map(payments.toReversed().map((payment) => [payment.id, payment]))
  const values = wantedPayments([...firstOfId.values()])
  for (let retries = 0; ; retries += 1) {
    // Taken as late as can be: a list that was read up to the newest payment must not miss one that is older and yet to come.
    const createdAtMs = clock.now()
    try {
      const rows = await PERSIST.rows(database, { ...values, now: new Date(createdAtMs).toISOString() })
      const rowOfId = new Map(rows.map((row) => [row.id, row]))
      return payments.map((payment) => {
        const row = firstOfId.get(payment.id) === payment ? rowOfId.get(payment.id) : undefined
        if (row === undefined) return { outcome: 'taken' }
        if (!row.persisted) return { outcome: 'receiver-not-payable' }
        return { outcome: 'persisted', metadata: row.metadata ?? undefined, createdAtMs }
      })
    } catch (error) {
      if (payments.length === 1 && isUniqueViolation(error)) return [{ outcome: 'taken' }]
      if (!isSerializationFailure(error) || retries >= RETRIES_MAX) throw error
    }
  }
}
