import {
  bytesText,
  instantText,
  placeholder,
  readBytes,
  Statement,
  writeTogether
} from '@open-payments-server/database'
import type { CreationIdentity } from '../../domain/idempotency.js'
import type { CreatedIncomingPayment } from '../../domain/incoming-payment.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { scheduled } from '../expiries/index.js'
import { isFrozenAddress } from '../wallet-addresses/index.js'
import { createdEvents } from './events.js'

/** An incoming payment to be stored. */
export interface NewIncomingPayment {
  readonly id: string
  /** Identifies repetitions of the request; undefined without an idempotency key. */
  readonly identity: CreationIdentity | undefined
  readonly walletAddressId: string
  readonly client: string
  readonly incomingValue: bigint | undefined
  readonly expiresAtMs: number
  readonly metadata: Readonly<Record<string, unknown>> | undefined
  readonly createdAtMs: number
}

/** A stored incoming payment. */
export interface StoredIncomingPayment {
  /** Without the fields of the wallet address. */
  readonly payment: Omit<CreatedIncomingPayment, 'walletAddressUrl' | 'asset'>
  /** Hash of the request that created it, if it had an idempotency key. */
  readonly requestHash: Uint8Array | null
}

/** Stores incoming payments. */
export interface IncomingPaymentStore {
  /**
   * Stores a payment, unless one with the same idempotency key exists: then that one is returned. A payment that would
   * already be expired is not stored, nor is one of a frozen wallet address.
   *
   * @returns undefined when nothing was stored and none exists
   */
  create(payment: NewIncomingPayment): Promise<StoredIncomingPayment | undefined>
}

/** The columns of a {@link StoredRow}. Fields that may change later are not part of the answer to a creation. */
const STORED = Prisma.sql`
  p.id, p.incoming_value::text, p.expires_at, p.metadata, p.created_at, p.request_hash, p.idempotency_hash`

interface StoredRow {
  readonly id: string
  readonly incoming_value: string | null
  readonly expires_at: Date
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly created_at: Date
  readonly request_hash: string | null
  readonly idempotency_hash: string | null
}

/**
 * One statement for all that arrive together, because every payment begins with it. The insert waits for a concurrent
 * request with the same key, but the select, whose snapshot is older, does not see what that one stored: {@link FIND} does.
 * Keys are inserted in order, so that two statements never deadlock.
 */
const CREATE = new Statement<StoredRow>(
  'create-incoming-payments',
  Prisma.sql`
  with wanted as (
    select * from json_to_recordset(${placeholder('wanted')}::json)
      as w (id uuid, wallet_address_id uuid, client text, incoming_value numeric, expires_at timestamptz, metadata jsonb,
            request_hash bytea, created_at timestamptz, idempotency_hash bytea)
  ), created as (
    insert into incoming_payment as p
      (id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, updated_at,
       idempotency_hash)
    select id, wallet_address_id, client, incoming_value, expires_at, metadata, request_hash, created_at, created_at,
           idempotency_hash
      from wanted where expires_at > created_at and not ${isFrozenAddress(Prisma.sql`wanted.wallet_address_id`)}
     order by idempotency_hash
    on conflict (idempotency_hash) where idempotency_hash is not null do nothing
    returning ${STORED}
  ), ${scheduled('incoming_payment')}, ${appended(createdEvents)}
  select * from created
   union all
  select ${STORED} from incoming_payment p where p.idempotency_hash = any (array(select idempotency_hash from wanted))`
)

/** The payment of a key. A statement, to be read like the rows of {@link CREATE}. */
const FIND = new Statement<StoredRow>(
  'find-created-incoming-payment',
  Prisma.sql`select ${STORED} from incoming_payment p where p.idempotency_hash = ${placeholder('idempotencyHash')}`
)

/** Stores incoming payments in the database. */
export function createIncomingPaymentStore({ database }: { database: Queries }): IncomingPaymentStore {
  const insert = writeTogether((payments: readonly NewIncomingPayment[]) => createAll(payments, database))
  return {
    async create(payment) {
      const stored = await insert(payment)
      if (stored !== undefined || payment.identity === undefined) return stored
      const [row] = await FIND.rows(database, { idempotencyHash: payment.identity.idempotencyHash })
      return row && readStored(row)
    }
  }
}

/** Stores some payments. @returns the stored payment of each, in their order */
async function createAll(
  payments: readonly NewIncomingPayment[],
  on: Queries
): Promise<(StoredIncomingPayment | undefined)[]> {
  const rows = await CREATE.rows(on, { wanted: JSON.stringify(payments.map(toRecord)) })
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byKey = new Map(rows.map((row) => [row.idempotency_hash, row]))
  return payments.map(({ id, identity }) => {
    const row = byId.get(id) ?? (identity && byKey.get(bytesText(identity.idempotencyHash)))
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
      createdAtMs: row.created_at.getTime()
    },
    requestHash: row.request_hash === null ? null : readBytes(row.request_hash)
  }
}

/** A record of {@link CREATE}. Numbers of arbitrary size are sent as text. */
function toRecord(payment: NewIncomingPayment): object {
  const { identity } = payment
  return {
    id: payment.id,
    wallet_address_id: payment.walletAddressId,
    client: payment.client,
    incoming_value: payment.incomingValue?.toString(),
    expires_at: instantText(payment.expiresAtMs),
    metadata: payment.metadata,
    request_hash: identity && bytesText(identity.requestHash),
    created_at: instantText(payment.createdAtMs),
    idempotency_hash: identity && bytesText(identity.idempotencyHash)
  }
}
