import { isSerializationFailure, isUnavailable, isUniqueViolation } from '@open-payments-server/database'
import {
  BATCH_PATIENCE_MS,
  type Clock,
  fulfilled,
  gather,
  type Logger,
  type Outcome
} from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { PaymentTerms } from './terms.js'

/** A payment as it is persisted. */
export interface NewPayment {
  /** Id (UUID), under which its amounts are reserved. */
  readonly id: string
  /** Id (UUID) of the signed request. */
  readonly signatureId: string
  readonly requestHash: Buffer
  readonly walletAddressId: string
  /** Id (UUID) of the sender's account. */
  readonly accountId: string
  readonly client: string
  /** Id (UUID) of the grant. */
  readonly grantId: string
  readonly terms: PaymentTerms
  readonly grantSpentDebitValue: bigint
  readonly grantSpentReceiveValue: bigint
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

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
  readonly pool: Pool
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

// One statement, because a client's answer depends on all of it and a hot sender's account is locked meanwhile:
// - the receiver must have room for the whole payment, or only the release of the reservation is recorded;
// - the payment's row in the outbox is the tombstone's place too: after a tombstone, the primary key refuses it;
// - the hold is made where the money is there. Where it is not, the payment exists without one, and processing fails it.
const PERSIST = `
  with receiver as (
    select 1 from incoming_payment
     where id = $1 and not completed and expires_at > $2
       and received_value + $3::numeric <= coalesce(incoming_value, 18446744073709551615)
  ), payment as (
    insert into outgoing_payment (id, signature_id, request_hash, wallet_address_id, client, grant_id, quote_id, receiver,
      debit_value, fee_value, receive_value, receive_asset_id, state, metadata, grant_spent_debit_value,
      grant_spent_receive_value, created_at, updated_at)
    select $4::uuid, $5::uuid, $6::bytea, $7::uuid, $8, $9::uuid, $10::uuid, $11, $12::numeric, $13::numeric, $3::numeric,
      $14::integer, 'pending', $15::jsonb, $16::numeric, $17::numeric, $2, $2
      from receiver
    returning metadata
  ), reservation as (
    insert into grant_reservation (payment_id, outcome, given_up_cause)
    select $4::uuid, case when not payable then 'release' end, case when not payable then 'receiver_not_payable' end
      from (select exists (select 1 from receiver) as payable) found
  ), hold as (
    update account as sender set debits_pending = sender.debits_pending + $12::numeric
      from payment, account as clearing
     where sender.id = $18 and clearing.asset_id = sender.asset_id and clearing.kind = 'clearing'
       and sender.credits_posted - sender.debits_posted - sender.debits_pending >= $12::numeric
    returning sender.id as debit_account_id, clearing.id as credit_account_id, sender.asset_id
  ), held as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, created_at)
    select $4::uuid, 'payment', 'pending', $4::uuid, debit_account_id, 'wallet', credit_account_id, 'clearing', asset_id,
           $12::numeric, $2
      from hold
  )
  select metadata from payment`

// The same for several payments, as if they came one after the other; no order among them was promised to anybody.
// - A payment whose id, signed request or quote is taken, by an earlier one of the batch too, is left out. One whose id was
//   given up, which is rare, breaks the primary key of the outbox, and with it the statement: none of it is kept.
// - An account's rows are locked before its money is counted: "for no key update" reads what the last commit left, where the
//   rest of the statement sees what was there when it began. The update that follows adds to that same row. The smallest
//   payments come first, so that one that the account cannot cover takes the money of none that it can.
// - Rows that others wait for are locked in one order, here and in PERSIST, so that nobody waits in a circle: payments (by
//   quote, then id, as two requests may claim the same), then accounts by id, then the outbox by id. "array" makes the
//   database insert every payment before it locks the first account.
const PERSIST_SEVERAL = `
  with wanted as materialized (
    select n.*, exists (
             select 1 from incoming_payment i
              where i.id = n.incoming_payment_id and not i.completed and i.expires_at > $2
                and i.received_value + n.receive_value <= coalesce(i.incoming_value, 18446744073709551615)) as payable
      from json_to_recordset($1::json)
        as n(id uuid, signature_id uuid, request_hash bytea, wallet_address_id uuid, account_id uuid, client text,
             grant_id uuid, quote_id uuid, incoming_payment_id uuid, receiver text, debit_value numeric, fee_value numeric,
             receive_value numeric, receive_asset_id integer, metadata jsonb, grant_spent_debit_value numeric,
             grant_spent_receive_value numeric)
  ), payment as (
    insert into outgoing_payment (id, signature_id, request_hash, wallet_address_id, client, grant_id, quote_id, receiver,
      debit_value, fee_value, receive_value, receive_asset_id, state, metadata, grant_spent_debit_value,
      grant_spent_receive_value, created_at, updated_at)
    select id, signature_id, request_hash, wallet_address_id, client, grant_id, quote_id, receiver,
      debit_value, fee_value, receive_value, receive_asset_id, 'pending', metadata, grant_spent_debit_value,
      grant_spent_receive_value, $2, $2
      from wanted where payable order by quote_id, id
    on conflict do nothing
    returning id, metadata
  ), sender as (
    select id, asset_id, credits_posted - debits_posted - debits_pending as available
      from account
     where id = any (array(select account_id from wanted join payment using (id)))
     order by id for no key update
  ), held as (
    select counted.id, counted.debit_value, sender.id as debit_account_id, clearing.id as credit_account_id, sender.asset_id
      from (select id, account_id, debit_value,
                   sum(debit_value) over (partition by account_id order by debit_value, id) as with_smaller
              from wanted join payment using (id)) counted
      join sender on sender.id = counted.account_id and counted.with_smaller <= sender.available
      join account clearing on clearing.asset_id = sender.asset_id and clearing.kind = 'clearing'
  ), hold as (
    update account a set debits_pending = a.debits_pending + total.held
      from (select debit_account_id as id, sum(debit_value) as held from held group by debit_account_id) total
     where a.id = total.id
  ), transfers as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, created_at)
    select id, 'payment', 'pending', id, debit_account_id, 'wallet', credit_account_id, 'clearing', asset_id, debit_value, $2
      from held
  ), reservation as (
    insert into grant_reservation (payment_id) select id from payment order by id
  ), refused as (
    insert into grant_reservation (payment_id, outcome, given_up_cause)
    select id, 'release', 'receiver_not_payable' from wanted where not payable order by id
    on conflict do nothing
    returning payment_id
  )
  select id, true as persisted, metadata from payment
   union all
  select payment_id, false, null from refused`

/**
 * Persists payments with one statement, or one by one where that one fails: what is wrong with one is not wrong with all.
 *
 * @throws Error when the database is unavailable: then it is not known which are persisted
 */
export async function persistTogether(
  payments: readonly NewPayment[],
  deps: PersistDeps
): Promise<readonly Outcome<PersistOutcome>[]> {
  const oneByOne = (some: readonly NewPayment[]): Promise<readonly Outcome<PersistOutcome>[]> =>
    Promise.allSettled(some.map((payment) => persistOne(payment, deps)))
  if (payments.length === 1) return oneByOne(payments)
  try {
    return await persistSeveral(payments, deps)
  } catch (error) {
    // Whether they are persisted is not known: each gives its id up, or finds its payment.
    if (isUnavailable(error)) throw error
    deps.logger.warn({ err: error, payments: payments.length }, 'payments not persisted together')
    return oneByOne(payments)
  }
}

async function persistOne(payment: NewPayment, { pool, clock }: PersistDeps): Promise<PersistOutcome> {
  for (let retries = 0; ; retries += 1) {
    // Taken as late as can be: a list that was read up to the newest payment must not miss one that is older and yet to come.
    const createdAtMs = clock.now()
    try {
      const { rows } = await pool.query<{ metadata: Record<string, unknown> | null }>({
        name: 'persist-outgoing-payment',
        text: PERSIST,
        values: persistValues(payment, createdAtMs)
      })
      const [row] = rows
      return row === undefined
        ? { outcome: 'receiver-not-payable' }
        : { outcome: 'persisted', metadata: row.metadata ?? undefined, createdAtMs }
    } catch (error) {
      if (isUniqueViolation(error)) return { outcome: 'taken' }
      if (!isSerializationFailure(error) || retries >= RETRIES_MAX) throw error
    }
  }
}

interface PersistedRow {
  readonly id: string
  readonly persisted: boolean
  readonly metadata: Record<string, unknown> | null
}

/** @throws whatever the database says; unless that is that it is unavailable, nothing is persisted then */
async function persistSeveral(
  payments: readonly NewPayment[],
  { pool, clock }: PersistDeps
): Promise<readonly Outcome<PersistOutcome>[]> {
  // A request that came twice has one id: the first one's, and taken for the other.
  const firstOfId = new Map(payments.toReversed().map((payment) => [payment.id, payment]))
  const createdAtMs = clock.now()
  const { rows } = await pool.query<PersistedRow>({
    name: 'persist-outgoing-payments',
    text: PERSIST_SEVERAL,
    values: [JSON.stringify([...firstOfId.values()].map(toRecord)), new Date(createdAtMs)]
  })
  const rowOfId = new Map(rows.map((row) => [row.id, row]))
  return payments.map((payment) => {
    const row = firstOfId.get(payment.id) === payment ? rowOfId.get(payment.id) : undefined
    if (row === undefined) return fulfilled({ outcome: 'taken' })
    if (!row.persisted) return fulfilled({ outcome: 'receiver-not-payable' })
    return fulfilled({ outcome: 'persisted', metadata: row.metadata ?? undefined, createdAtMs })
  })
}

/** The values of {@link PERSIST}, `$1` to `$18`. */
function persistValues(payment: NewPayment, createdAtMs: number): unknown[] {
  const { amounts, receiver, quoteId } = payment.terms
  return [
    receiver.incomingPaymentId,
    new Date(createdAtMs),
    amounts.receive.toString(),
    payment.id,
    payment.signatureId,
    payment.requestHash,
    payment.walletAddressId,
    payment.client,
    payment.grantId,
    quoteId ?? null,
    receiver.url,
    amounts.debit.toString(),
    amounts.fee.toString(),
    receiver.assetId,
    payment.metadata === undefined ? null : JSON.stringify(payment.metadata),
    payment.grantSpentDebitValue.toString(),
    payment.grantSpentReceiveValue.toString(),
    payment.accountId
  ]
}

/** A record of {@link PERSIST_SEVERAL}. Numbers of arbitrary size travel as text. */
function toRecord(payment: NewPayment): object {
  const { amounts, receiver, quoteId } = payment.terms
  return {
    id: payment.id,
    signature_id: payment.signatureId,
    request_hash: `\\x${payment.requestHash.toString('hex')}`,
    wallet_address_id: payment.walletAddressId,
    account_id: payment.accountId,
    client: payment.client,
    grant_id: payment.grantId,
    quote_id: quoteId,
    incoming_payment_id: receiver.incomingPaymentId,
    receiver: receiver.url,
    debit_value: amounts.debit.toString(),
    fee_value: amounts.fee.toString(),
    receive_value: amounts.receive.toString(),
    receive_asset_id: receiver.assetId,
    metadata: payment.metadata,
    grant_spent_debit_value: payment.grantSpentDebitValue.toString(),
    grant_spent_receive_value: payment.grantSpentReceiveValue.toString()
  }
}
