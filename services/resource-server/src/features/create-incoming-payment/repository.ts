import type { Pool } from 'pg'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { IncomingPayment } from '../../domain/incoming-payment.js'
import {
  INCOMING_PAYMENT_COLUMNS,
  INCOMING_PAYMENT_JOINS,
  type IncomingPaymentRow,
  readIncomingPaymentRow
} from '../../domain/incoming-payment-row.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

/** An incoming payment to be kept. */
export interface NewIncomingPayment {
  readonly id: string
  /** By what a repetition of the request is known; undefined for one without an idempotency key. */
  readonly identity: CreationIdentity | undefined
  readonly walletAddressId: string
  readonly client: string
  readonly incomingValue: bigint | undefined
  readonly expiresAtMs: number
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  /** Which key its shared secret is derived from. */
  readonly sharedSecretKeyId: string
  readonly createdAtMs: number
}

/** What is kept after a creation. */
export interface StoredIncomingPayment {
  readonly payment: IncomingPayment
  /** Hash of the request that created it, where it carried an idempotency key. */
  readonly requestHash: Buffer | null
}

/** Keeps incoming payments. */
export interface IncomingPaymentRepository {
  /**
   * Keeps a payment, unless there is one of the same idempotency key already: that one is answered then. One that would
   * have expired by its creation is not kept.
   *
   * @returns undefined when nothing was kept and nothing could be seen
   */
  create(payment: NewIncomingPayment): Promise<StoredIncomingPayment | undefined>
}

/**
 * One statement, since every payment begins with it. A request with the same key that runs at the same time is waited for
 * by the insert, and not seen by the select, whose snapshot is older: then no row comes back.
 */
const CREATE = `
  with created as (
    insert into incoming_payment as p
      (id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, updated_at,
       idempotency_hash, shared_secret_key_id)
    select $1, $2, $3, $4::numeric, $5::timestamptz, $6::jsonb, $7, $8::timestamptz, $8::timestamptz, $9, $10
     where $5::timestamptz > $8::timestamptz
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning p.*
  )
  select ${INCOMING_PAYMENT_COLUMNS}, p.request_hash
    from (select * from created union all select * from incoming_payment where idempotency_hash = $9) p ${INCOMING_PAYMENT_JOINS}`

/** Keeps incoming payments in the database. */
export function createIncomingPaymentRepository(deps: {
  pool: Pool
  urls: ResourceUrls
}): IncomingPaymentRepository {
  return {
    async create(payment) {
      const { rows } = await deps.pool.query<IncomingPaymentRow & { request_hash: Buffer | null }>({
        name: 'create-incoming-payment',
        text: CREATE,
        values: [
          payment.id,
          payment.walletAddressId,
          payment.client,
          payment.incomingValue?.toString(),
          new Date(payment.expiresAtMs),
          payment.metadata === undefined ? undefined : JSON.stringify(payment.metadata),
          payment.identity?.requestHash,
          new Date(payment.createdAtMs),
          payment.identity?.idempotencyHash,
          payment.sharedSecretKeyId
        ]
      })
      const [row] = rows
      if (row === undefined) return undefined
      return { payment: readIncomingPaymentRow(row, deps.urls), requestHash: row.request_hash }
    }
  }
}
