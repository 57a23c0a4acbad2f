import { isSerializationFailure, isUniqueViolation } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_TABLES,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from '../../domain/outgoing-payment-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { PaymentTerms, Quotes } from './terms.js'

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
  readonly createdAtMs: number
}

/** What persisting a payment came to. */
export type PersistOutcome =
  /** It exists. `metadata` is as it will be read again. */
  | { readonly outcome: 'persisted'; readonly metadata: OutgoingPayment['metadata'] }
  /** The receiver cannot take it. The release of its reservation is recorded. */
  | { readonly outcome: 'receiver-not-payable' }
  /** Its id, its signed request or its quote is taken, or its id was given up. Nothing is recorded. */
  | { readonly outcome: 'taken' }

/** A payment that took the place of another. */
export interface FoundPayment {
  readonly payment: OutgoingPayment
  readonly requestHash: Buffer
}

/** Keeps outgoing payments. */
export interface OutgoingPaymentRepository extends Quotes {
  /** Persists a payment, its place in the outbox and the hold on its debit, with one statement. */
  persist(payment: NewPayment): Promise<PersistOutcome>
  /** The payment of one of some ids (UUID), else of a signed request. */
  findTwin(ids: readonly string[], signatureId: string): Promise<FoundPayment | undefined>
  /** Whether a quote was used by any payment. */
  isQuoteUsed(quoteId: string): Promise<boolean>
  /**
   * Gives up a payment id: no payment will ever be created under it, and its reservation will be released.
   *
   * @returns false when the id is taken already, by a payment or because it was given up before
   */
  giveUp(paymentId: string): Promise<boolean>
  /** Whether a payment has an id, or it was given up. */
  isTaken(paymentId: string): Promise<boolean>
}

/** How often a statement that lost against another one is tried again. */
const RETRIES_MAX = 3

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
    insert into grant_reservation (payment_id, outcome)
    select $4::uuid, case when exists (select 1 from receiver) then null else 'release' end
  ), hold as (
    update account as sender set debits_pending = sender.debits_pending + $12::numeric
      from payment, account as clearing
     where sender.id = $18 and clearing.asset_id = sender.asset_id and clearing.kind = 'clearing'
       and sender.credits_posted - sender.debits_posted - sender.debits_pending >= $12::numeric
    returning sender.id as debit_account_id, clearing.id as credit_account_id, sender.asset_id
  ), held as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, credit_account_id, asset_id, amount, created_at)
    select $4::uuid, 'payment', 'pending', $4::uuid, debit_account_id, credit_account_id, asset_id, $12::numeric, $2
      from hold
  )
  select metadata from payment`

/** Keeps outgoing payments in the database. */
export function createOutgoingPaymentRepository(deps: {
  pool: Pool
  urls: ResourceUrls
}): OutgoingPaymentRepository {
  const { pool, urls } = deps
  return {
    persist: (payment) => persist(pool, payment),

    async findTwin(ids, signatureId) {
      const { rows } = await pool.query<OutgoingPaymentRow & { request_hash: Buffer }>(
        `select ${OUTGOING_PAYMENT_COLUMNS}, p.request_hash from ${OUTGOING_PAYMENT_TABLES}
          where p.id = any($1) or p.signature_id = $2
          order by p.id = any($1) desc limit 1`,
        [ids, signatureId]
      )
      const [row] = rows
      return row && { payment: readOutgoingPaymentRow(row, urls), requestHash: row.request_hash }
    },

    async isQuoteUsed(quoteId) {
      const { rowCount } = await pool.query('select 1 from outgoing_payment where quote_id = $1', [quoteId])
      return rowCount === 1
    },

    async giveUp(paymentId) {
      const { rowCount } = await pool.query(
        `insert into grant_reservation (payment_id, outcome) values ($1, 'release') on conflict do nothing`,
        [paymentId]
      )
      return rowCount === 1
    },

    async isTaken(paymentId) {
      const { rowCount } = await pool.query('select 1 from grant_reservation where payment_id = $1', [
        paymentId
      ])
      return rowCount === 1
    },

    find: (id, walletAddressId, client) => findQuote(pool, id, walletAddressId, client)
  }
}

async function persist(pool: Pool, payment: NewPayment): Promise<PersistOutcome> {
  const values = persistValues(payment)
  for (let retries = 0; ; retries += 1) {
    try {
      const { rows } = await pool.query<{ metadata: Record<string, unknown> | null }>({
        name: 'persist-outgoing-payment',
        text: PERSIST,
        values
      })
      const [row] = rows
      return row === undefined
        ? { outcome: 'receiver-not-payable' }
        : { outcome: 'persisted', metadata: row.metadata ?? undefined }
    } catch (error) {
      if (isUniqueViolation(error)) return { outcome: 'taken' }
      if (!isSerializationFailure(error) || retries >= RETRIES_MAX) throw error
    }
  }
}

/** The values of {@link PERSIST}, `$1` to `$18`. */
function persistValues(payment: NewPayment): unknown[] {
  const { amounts, receiver, quoteId } = payment.terms
  return [
    receiver.incomingPaymentId,
    new Date(payment.createdAtMs),
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

interface QuoteRow {
  readonly receiver: string
  readonly debit_value: string
  readonly fee_value: string
  readonly receive_value: string
  readonly receive_asset_id: number
  readonly code: string
  readonly scale: number
  readonly expires_at: Date
  readonly used: boolean
}

/** One prepared statement over three tables: Prisma would send three, and most payments need it. */
async function findQuote(
  pool: Pool,
  id: string,
  walletAddressId: string,
  client: string
): ReturnType<Quotes['find']> {
  const { rows } = await pool.query<QuoteRow>({
    name: 'quote-to-pay',
    text: `select q.receiver, q.debit_value, q.fee_value, q.receive_value, q.receive_asset_id, s.code, s.scale,
                  q.expires_at, p.id is not null as used
             from quote q join asset s on s.id = q.receive_asset_id left join outgoing_payment p on p.quote_id = q.id
            where q.id = $1 and q.wallet_address_id = $2 and q.client = $3`,
    values: [id, walletAddressId, client]
  })
  const [row] = rows
  return (
    row && {
      receiver: row.receiver,
      amounts: {
        debit: BigInt(row.debit_value),
        fee: BigInt(row.fee_value),
        receive: BigInt(row.receive_value)
      },
      receiveAsset: { code: row.code, scale: row.scale },
      receiveAssetId: row.receive_asset_id,
      expiresAtMs: row.expires_at.getTime(),
      used: row.used
    }
  )
}
