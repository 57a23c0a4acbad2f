import {
  instantText,
  isSerializationFailure,
  isUnavailable,
  isUniqueViolation,
  placeholder,
  Statement
} from '@open-payments-server/database'
import {
  BATCH_PATIENCE_MS,
  fulfilled,
  gather,
  type Logger,
  type ItemResult,
  rejected
} from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import { metRule, requested } from '../../modules/approvals/index.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { opened } from '../../modules/grant-outcomes/index.js'
import { canTake, walletAddressOf } from '../../modules/incoming-payments/index.js'
import { held } from '../../modules/ledger/index.js'
import {
  canRefund,
  inserted,
  insertedEvents,
  lockedOriginals,
  type NewPayment,
  refundCounted,
  wanted,
  wantedPayments
} from '../../modules/outgoing-payments/index.js'
import { isFrozenAddress, isFrozenMeanwhile, unfrozenPayers } from '../../modules/wallet-addresses/index.js'
import { refundByPayment, refundCreatedEvents, refundedByPayment } from '../../modules/refunds/index.js'

/** The result of persisting a payment. */
export type PersistResult =
  /** It exists. `metadata` is as it will be read later. */
  | {
      readonly kind: 'persisted'
      readonly metadata: OutgoingPayment['metadata']
      /** It awaits approval if it met a rule. */
      readonly state: 'awaiting_approval' | 'pending'
      readonly createdAtMs: number
    }
  /**
   * The receiver cannot take it, or less is left to refund than it would. The release of its reservation is recorded.
   */
  | { readonly kind: 'receiver-not-payable' }
  /** The wallet address that pays, or its account, is frozen. The release of its reservation is recorded. */
  | { readonly kind: 'account-frozen' }
  /** Its id, its signed request or its quote is taken, or its id was given up. Nothing is recorded. */
  | { readonly kind: 'taken' }

/** What persisting payments needs. */
export interface PersistDependencies {
  readonly database: Queries
  readonly clock: Clock
  readonly logger: Logger
  /** How long a payment awaits approval, unless its terms end before. */
  readonly approvalTimeoutSeconds: number
}

/** How often a statement is retried after a conflict with another one. */
const RETRIES_MAX = 3

/** Maximum number of payments that one statement persists. */
const PAYMENTS_MAX = 100

/**
 * Persists payments, with one statement for all that arrive while another is running: otherwise payments from one account
 * would wait for each other's commits. While another session locks an account, the payments of its statement wait, and those
 * that come later from the accounts of that statement; all others wait for {@link BATCH_PATIENCE_MS} at most.
 *
 * @returns persists one
 */
export function createPersist(
  dependencies: PersistDependencies
): (payment: NewPayment) => Promise<PersistResult> {
  return gather({
    runBatch: (payments) => persistTogether(payments, dependencies),
    itemsMax: PAYMENTS_MAX,
    patienceMs: BATCH_PATIENCE_MS,
    keyOf: ({ accountId }) => accountId
  })
}

interface PersistedRow {
  readonly id: string
  readonly persisted: boolean
  /** Whether it is refused because whoever pays is frozen. */
  readonly payer_frozen: boolean
  readonly metadata: Record<string, unknown> | null
  readonly state: 'awaiting_approval' | 'pending'
}

/** Whether the receiver can take the payment of the part `asked`, as far as is known here. */
const CAN_TAKE = Prisma.sql`(asked.peer_id is not null or ${canTake({
  id: Prisma.sql`asked.incoming_payment_id`,
  value: Prisma.sql`asked.receive_value`,
  now: Prisma.sql`${placeholder('now')}::timestamptz`
})})`

/** The rule of the provider that the payment of the part `asked` meets. */
const MET_RULE = metRule({
  debitValue: Prisma.sql`asked.debit_value`,
  walletAddressId: Prisma.sql`asked.wallet_address_id`,
  client: Prisma.sql`asked.client`,
  method: Prisma.sql`case when asked.peer_id is null then 'local' else 'ilp' end`,
  payee: walletAddressOf(Prisma.sql`asked.incoming_payment_id`)
})

// One statement, because a client's answer depends on all of it and a busy sender's account is locked meanwhile. It treats
// several payments as if each had come alone; no order among them is guaranteed.
// - The receiver must have room for the whole payment, and who pays must not be frozen; otherwise only the release of its
//   reservation is recorded. A freeze that is committed while the statement runs fails it, and it is sent again.
// - The payment's entry among the outcomes takes the place of a tombstone: after a tombstone, the primary key refuses it.
// - The hold is made if the money is there. Otherwise the payment exists without one, and processing fails it.
// - A payment that meets a rule of the provider awaits approval. The rules are those of the statement's snapshot.
// - Rows that others wait for are locked in one order: payments, then accounts by id, then outcomes by id. `placed` reads
//   `covered` only for this order: PostgreSQL runs data-modifying parts in any order.
const PERSIST = persisting('persist-outgoing-payments', {
  asked: wanted,
  payable: CAN_TAKE,
  parts: Prisma.sql`${opened}, ${requested}, ${appended(insertedEvents)}`
})

// A payment that refunds another is persisted alone: so no refund of a batch would have to be counted before another. The
// refunded payment is locked before anything else is, as every payment is before accounts are.
const PERSIST_REFUND = persisting('persist-refunding-payment', {
  asked: Prisma.sql`${wanted}, ${lockedOriginals(Prisma.sql`array(select refund_of from asked)`)}`,
  payable: Prisma.sql`${CAN_TAKE} and ${canRefund({
    id: Prisma.sql`asked.refund_of`,
    value: Prisma.sql`asked.debit_value - asked.fee_value`
  })}`,
  parts: Prisma.sql`
    ${opened}, ${requested}, ${refundedByPayment}, ${refundCounted},
    ${appended(Prisma.sql`${insertedEvents} union all ${refundCreatedEvents}`)}`
})

function persisting(
  name: string,
  { asked, payable, parts }: Readonly<Record<'asked' | 'payable' | 'parts', Prisma.Sql>>
): Statement<PersistedRow> {
  return new Statement<PersistedRow>(
    name,
    Prisma.sql`
  with ${asked}, judged as (
    select asked.*, ${isFrozenAddress(Prisma.sql`asked.wallet_address_id`)} as payer_frozen from asked
  ), wanted as materialized (
    select asked.*, not asked.payer_frozen and ${payable} as payable, ${MET_RULE} as approval_rule_id from judged asked
  ), ${inserted}, ${unfrozenPayers(Prisma.sql`array(select wallet_address_id from wanted join payment using (id))`)}, holdable as (
    select id, account_id, debit_value from wanted join payment using (id)
     where (select proof from unfrozen) is null
  ), ${held}, placed as (
    select id, covered.debit_account_id is not null as held from payment left join covered using (id)
  ), ${parts}
  select id, true as persisted, false as payer_frozen, metadata, state::text from payment
   union all
  select wanted.id, false, wanted.payer_frozen, null, null from refused join wanted on wanted.id = refused.payment_id`
  )
}

/**
 * Persists payments with one statement, or one by one if that fails: an error in one does not affect the others. Those that
 * refund another one are persisted one by one, after the rest.
 *
 * @throws Error when the database is unavailable: then it is unknown which are persisted
 */
export async function persistTogether(
  payments: readonly NewPayment[],
  dependencies: PersistDependencies
): Promise<readonly ItemResult<PersistResult>[]> {
  if (payments.length > 1 && payments.some(({ refund }) => refund !== undefined)) {
    return persistRefundsAfterOthers(payments, dependencies)
  }
  try {
    return (await persistAll(payments, dependencies)).map(fulfilled)
  } catch (error) {
    // It is unknown whether they are persisted: each gives its id up, or finds its payment.
    if (isUnavailable(error)) throw error
    if (payments.length === 1) return [rejected(error)]
    dependencies.logger.warn({ err: error, payments: payments.length }, 'payments not persisted together')
    return Promise.allSettled(payments.map((payment) => persistAlone(payment, dependencies)))
  }
}

async function persistRefundsAfterOthers(
  payments: readonly NewPayment[],
  dependencies: PersistDependencies
): Promise<readonly ItemResult<PersistResult>[]> {
  const others = payments.filter(({ refund }) => refund === undefined)
  const resultOf = new Map<NewPayment, ItemResult<PersistResult>>()
  const persisted = others.length === 0 ? [] : await persistTogether(others, dependencies)
  persisted.forEach((result, index) => {
    const payment = others[index]
    if (payment !== undefined) resultOf.set(payment, result)
  })
  for (const payment of payments) {
    if (payment.refund === undefined) continue
    const [result] = await Promise.allSettled([persistAlone(payment, dependencies)])
    resultOf.set(payment, result)
  }
  return payments.map((payment) => resultOf.get(payment) ?? fulfilled({ kind: 'taken' }))
}

async function persistAlone(payment: NewPayment, dependencies: PersistDependencies): Promise<PersistResult> {
  const [result] = await persistAll([payment], dependencies)
  return result ?? { kind: 'taken' }
}

/**
 * All or none; retried after a conflict with another statement.
 *
 * @throws the database's error; unless the database is unavailable, nothing is persisted then
 */
async function persistAll(
  payments: readonly NewPayment[],
  { database, clock, approvalTimeoutSeconds }: PersistDependencies
): Promise<readonly PersistResult[]> {
  // A request that arrived twice has one id: the first keeps it, and it is taken for the second.
  const firstOfId = new Map(payments.toReversed().map((payment) => [payment.id, payment]))
  const values = wantedPayments([...firstOfId.values()])
  const refund = payments[0]?.refund
  for (let retries = 0; ; retries += 1) {
    // The time is taken as late as possible: a list that was read up to the newest payment must not miss an older one that
    // appears later.
    const createdAtMs = clock.now()
    try {
      const instants = {
        now: instantText(createdAtMs),
        approvalExpiresAt: instantText(createdAtMs + approvalTimeoutSeconds * 1_000)
      }
      const rows = await (refund === undefined
        ? PERSIST.rows(database, { ...values, ...instants })
        : PERSIST_REFUND.rows(database, { ...values, ...refundByPayment(refund), ...instants }))
      const rowOfId = new Map(rows.map((row) => [row.id, row]))
      return payments.map((payment) => {
        const row = firstOfId.get(payment.id) === payment ? rowOfId.get(payment.id) : undefined
        if (row === undefined) return { kind: 'taken' }
        if (!row.persisted) return { kind: row.payer_frozen ? 'account-frozen' : 'receiver-not-payable' }
        const { state } = row
        return { kind: 'persisted', metadata: row.metadata ?? undefined, state, createdAtMs }
      })
    } catch (error) {
      if (payments.length === 1 && isUniqueViolation(error)) return [{ kind: 'taken' }]
      const isRetried = isSerializationFailure(error) || isFrozenMeanwhile(error)
      if (!isRetried || retries >= RETRIES_MAX) throw error
    }
  }
}
