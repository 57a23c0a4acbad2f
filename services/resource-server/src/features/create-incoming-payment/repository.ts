import { writeTogether } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { CreatedIncomingPayment } from '../../domain/incoming-payment.js'

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
  /** Without what belongs to the wallet address. */
  readonly payment: Omit<CreatedIncomingPayment, 'walletAddressUrl' | 'asset'>
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

/** The columns of a {@link StoredRow}. What may change later is no part of the answer to a creation. */
const STORED = `
  p.id, p.incoming_value, p.expires_at, p.metadata, p.created_at, p.shared_secret_key_id, p.request_hash, p.idempotency_hash`

interface StoredRow {
  readonly id: string
  readonly incoming_value: string | null
  readonly expires_at: Date
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly created_at: Date
  readonly shared_secret_key_id: string | null
  readonly request_hash: Buffer | null
  readonly idempotency_hash: Buffer | null
}

/**
 * One statement for all that arrive together, since every payment begins with it. A request with the same key that runs at the
 * same time is waited for by the insert, and not seen by the select, whose snapshot is older: then no row comes back. Keys are
 * inserted in their order, so that two statements never wait for each other.
 */
const CREATE = `
  with wanted as (
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::numeric[], $5::timestamptz[], $6::text[], $7::bytea[],
                         $8::timestamptz[], $9::bytea[], $10::text[])
      as w (id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, idempotency_hash,
            shared_secret_key_id)
  ), created as (
    insert into incoming_payment as p
      (id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, updated_at,
       idempotency_hash, shared_secret_key_id)
    select id, wallet_address_id, client, incoming_value, expires_at, metadata::jsonb, request_hash, created_at, created_at,
           idempotency_hash, shared_secret_key_id
      from wanted where expires_at > created_at order by idempotency_hash
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning ${STORED}
  )
  select * from created union all select ${STORED} from incoming_payment p where p.idempotency_hash = any($11)`

/** Keeps incoming payments in the database. */
export function createIncomingPaymentRepository(deps: { pool: Pool }): IncomingPaymentRepository {
  return { create: writeTogether((payments) => createAll(payments, deps.pool)) }
}

/** Keeps some payments. @returns what is kept of each, in their order */
async function createAll(
  payments: readonly NewIncomingPayment[],
  pool: Pool
): Promise<(StoredIncomingPayment | undefined)[]> {
  const { rows } = await pool.query<StoredRow>({
    name: 'create-incoming-payments',
    text: CREATE,
    values: createValues(payments)
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byKey = new Map(rows.map((row) => [row.idempotency_hash?.toString('hex'), row]))
  return payments.map(({ id, identity }) => {
    const row = byId.get(id) ?? (identity && byKey.get(identity.idempotencyHash.toString('hex')))
    return row && readStored(row)
  })
}

function readStored(row: StoredRow): StoredIncomingPayment {
  return {
    payment: {
      id: row.id,
      incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
      expiresAtMs: row.expires_at.getTime(),
      metadata: row.metadata ?? undefined,
      createdAtMs: row.created_at.getTime(),
      sharedSecretKeyId: row.shared_secret_key_id ?? undefined
    },
    requestHash: row.request_hash
  }
}

/** The values of {@link CREATE}, `$1` to `$11`. */
function createValues(payments: readonly NewIncomingPayment[]): unknown[] {
  const column = (read: (payment: NewIncomingPayment) => unknown): unknown[] => payments.map(read)
  return [
    column(({ id }) => id),
    column(({ walletAddressId }) => walletAddressId),
    column(({ client }) => client),
    column(({ incomingValue }) => incomingValue?.toString()),
    column(({ expiresAtMs }) => new Date(expiresAtMs)),
    column(({ metadata }) => metadata && JSON.stringify(metadata)),
    column(({ identity }) => identity?.requestHash),
    column(({ createdAtMs }) => new Date(createdAtMs)),
    column(({ identity }) => identity?.idempotencyHash),
    column(({ sharedSecretKeyId }) => sharedSecretKeyId),
    payments.flatMap(({ identity }) => identity?.idempotencyHash ?? [])
  ]
}
