import { createLookup } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_TABLES,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from '../../domain/outgoing-payment-row.js'
import { isOwnedBy } from '../../domain/quote.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { createPersist, type NewPayment, type PersistDeps, type PersistOutcome } from './persist.js'
import type { Quotes } from './terms.js'

/** A payment that took the place of another. */
export interface FoundPayment {
  readonly payment: OutgoingPayment
  readonly requestHash: Buffer
  /** Id (UUID) of the grant it was made under. */
  readonly grantId: string
  /** Whether one of the ids is its own or stands for it, or only the signed request tells. */
  readonly knownBy: 'id' | 'signature'
}

/** Why a request gives its payment id up. Where its receiver cannot take the payment, persisting records that. */
export type GivenUpCause =
  /** It is not known whether the reservation was made. */
  | 'reservation_unknown'
  /** It was made, and it is not known whether the payment was persisted, or the database refused it. */
  | 'persist_failed'
  /** The id, the signed request or the quote belongs to another payment. */
  | 'id_taken'

/** Keeps outgoing payments. */
export interface OutgoingPaymentRepository extends Quotes {
  /** Persists a payment, its place in the outbox and the hold on its debit, with one statement for all that arrive together. */
  persist(payment: NewPayment): Promise<PersistOutcome>
  /** The payment of one of some ids (UUID), else the one that such an id stands for, else that of a signed request. */
  findTwin(ids: readonly string[], signatureId: string): Promise<FoundPayment | undefined>
  /** Whether a quote was used by any payment. */
  isQuoteUsed(quoteId: string): Promise<boolean>
  /**
   * Gives up a payment id: no payment will ever be created under it, and its reservation will be released. It stands for the
   * payment of the signed request from then on, if there is one.
   *
   * @returns false when the id is taken already, by a payment or because it was given up before
   */
  giveUp(paymentId: string, signatureId: string, cause: GivenUpCause): Promise<boolean>
  /** Whether a payment has an id, or it was given up. */
  isTaken(paymentId: string): Promise<boolean>
}

/** Keeps outgoing payments in the database. */
export function createOutgoingPaymentRepository(
  deps: PersistDeps & { readonly urls: ResourceUrls }
): OutgoingPaymentRepository {
  const { pool, urls } = deps
  return {
    persist: createPersist(deps),

    async findTwin(ids, signatureId) {
      const { rows } = await pool.query<TwinRow>(
        `select ${OUTGOING_PAYMENT_COLUMNS}, p.request_hash, p.grant_id, p.id = any(${STOOD_FOR}) as known_by_id
           from ${OUTGOING_PAYMENT_TABLES}
          where p.id = any($1::uuid[] || ${STOOD_FOR}) or p.signature_id = $2
          order by p.id = any($1::uuid[]) desc, p.id = any(${STOOD_FOR}) desc limit 1`,
        [ids, signatureId]
      )
      const [row] = rows
      return (
        row && {
          payment: readOutgoingPaymentRow(row, urls),
          requestHash: row.request_hash,
          grantId: row.grant_id,
          knownBy: ids.includes(row.id) || row.known_by_id ? 'id' : 'signature'
        }
      )
    },

    async isQuoteUsed(quoteId) {
      const { rowCount } = await pool.query('select 1 from outgoing_payment where quote_id = $1', [quoteId])
      return rowCount === 1
    },

    async giveUp(paymentId, signatureId, cause) {
      const { rowCount } = await pool.query(
        `insert into grant_reservation (payment_id, outcome, stands_for, given_up_cause)
         values ($1, 'release', (select id from outgoing_payment where signature_id = $2 and id <> $1), $3)
         on conflict do nothing`,
        [paymentId, signatureId, cause]
      )
      return rowCount === 1
    },

    async isTaken(paymentId) {
      const { rowCount } = await pool.query('select 1 from grant_reservation where payment_id = $1', [
        paymentId
      ])
      return rowCount === 1
    },

    find: createFindQuote(pool)
  }
}

interface TwinRow extends OutgoingPaymentRow {
  readonly request_hash: Buffer
  readonly grant_id: string
  readonly known_by_id: boolean
}

/** The payments that some of the ids `$1` stand for; an array, so that the payments are found by the index of their ids. */
const STOOD_FOR = `array(
  select stands_for from grant_reservation where payment_id = any($1::uuid[]) and stands_for is not null)`

interface QuoteRow {
  readonly id: string
  readonly wallet_address_id: string
  readonly client: string
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

/** One prepared statement over three tables for all that arrive together: Prisma would send three for each. */
function createFindQuote(pool: Pool): Quotes['find'] {
  const lookUp = createLookup<QuoteRow>({
    pool,
    name: 'quotes-to-pay',
    text: `select q.id, q.wallet_address_id, q.client, q.receiver, q.debit_value, q.fee_value, q.receive_value,
                  q.receive_asset_id, s.code, s.scale, q.expires_at, p.id is not null as used
             from quote q
             join asset s on s.id = q.receive_asset_id
             left join outgoing_payment p on p.quote_id = q.id and p.quote_id = any($1)
            where q.id = any($1)`
  })
  return async (id, owner) => {
    const row = await lookUp(id)
    if (row === undefined || row.used) return undefined
    const quote = {
      walletAddressId: row.wallet_address_id,
      client: row.client,
      receiver: row.receiver,
      amounts: {
        debit: BigInt(row.debit_value),
        fee: BigInt(row.fee_value),
        receive: BigInt(row.receive_value)
      },
      receiveAsset: { code: row.code, scale: row.scale },
      receiveAssetId: row.receive_asset_id,
      expiresAtMs: row.expires_at.getTime()
    }
    return isOwnedBy(quote, owner) ? quote : undefined
  }
}
