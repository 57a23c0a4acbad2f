import { placeholder, Statement, writeTogether } from '@open-payments-server/database'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { CreatedIncomingPayment } from '../../domain/incoming-payment.js'
import { Prisma, type Queries } from '../database.js'

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
  readonly requestHash: Uint8Array | null
}

/** Keeps incoming payments. */
export interface IncomingPaymentStore {
  /**
   * Keeps a payment, unless there is one of the same idempotency key already: that one is answered then. One that would
   * have expired by its creation is not kept.
   *
   * @returns undefined when nothing was kept and nothing could be seen
   */
  create(payment: NewIncomingPayment): Promise<StoredIncomingPayment | undefined>
}

/** The columns of a {@link StoredRow}. What may change later is no part of the answer to a creation. */
const STORED = Prisma.sql`
  p.id, p.incoming_value::text, p.expires_at, p.metadata, p.created_at, p.shared_secret_key_id, p.request_hash, p.idempotency_hash`

interface StoredRow {
  readonly id: string
  readonly incoming_value: string | null
  readonly expires_at: Date
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly created_at: Date
  readonly shared_secret_key_id: string | null
  readonly request_hash: Uint8Array | null
  readonly idempotency_hash: Uint8Array | null
}

/**
 * One statement for all that arrive together, since every payment begins with it. A request with the same key that runs at the
 * same time is waited for by the insert, and not seen by the select, whose snapshot is older: then no row comes back. Keys are
 * inserted in their order, so that two statements never wait for each other.
 */
const CREATE = new Statement<StoredRow>(
  'create-incoming-payments',
  Prisma.sql`
  with wanted as (
    select * from json_to_recordset(${placeholder('wanted')}::json)
      as w (id uuid, wallet_address_id uuid, client text, incoming_value numeric, expires_at timestamptz, metadata jsonb,
            request_hash bytea, created_at timestamptz, idempotency_hash bytea, shared_secret_key_id text)
  ), created as (
    insert into incoming_payment as p
      (id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, updated_at,
       idempotency_hash, shared_secret_key_id)
    select id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, created_at,
           idempotency_hash, shared_secret_key_id
      from wanted where expires_at > created_at order by idempotency_hash
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning ${STORED}
  )
  select * from created
   union all
  select ${STORED} from incoming_payment p where p.idempotency_hash = any (array(select idempotency_hash from wanted))`
)

/** Keeps incoming payments in the database. */
export function createIncomingPaymentStore(deps: { database: Queries }): IncomingPaymentStore {
  return { create: writeTogether((payments) => createAll(payments, deps.database)) }
}

/** Keeps some payments. @returns what is kept of each, in their order */
async function createAll(
  payments: readonly NewIncomingPayment[],
  on: Queries
): Promise<(StoredIncomingPayment | undefined)[]> {
  const rows = await CREATE.rows(on, { wanted: JSON.stringify(payments.map(toRecord)) })
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byKey = new Map(rows.map((row) => [row.idempotency_hash && hexOf(row.idempotency_hash), row]))
  return payments.map(({ id, identity }) => {
    const row = byId.get(id) ?? (identity && byKey.get(hexOf(identity.idempotencyHash)))
    return row && readStored(row)
  })
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
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

/** A record of {@link CREATE}. Numbers of arbitrary size travel as text. */
function toRecord(payment: NewIncomingPayment): object {
  const { identity } = payment
  return {
    id: payment.id,
    wallet_address_id: payment.walletAddressId,
    client: payment.client,
    incoming_value: payment.incomingValue?.toString(),
    expires_at: new Date(payment.expiresAtMs).toISOString(),
    metadata: payment.metadata,
    request_hash: identity && `\\x${identity.requestHash.toString('hex')}`,
    created_at: new Date(payment.createdAtMs).toISOString(),
    idempotency_hash: identity && `\\x${identity.idempotencyHash.toString('hex')}`,
    shared_secret_key_id: payment.sharedSecretKeyId
  }
}
