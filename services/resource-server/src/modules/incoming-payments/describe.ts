import { placeholder, Statement } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import { Prisma, type Queries } from '../database.js'
import { WALLET_ADDRESS } from '../wallet-addresses/index.js'

/** Maximum length of a description that is told, in characters: its client may have written kilobytes. */
const DESCRIPTION_LENGTH_MAX = 500

/** An incoming payment as whoever is to pay it is told of it. */
export interface DescribedIncomingPayment {
  /** Path of its wallet address. */
  readonly path: string
  readonly publicName: string | undefined
  /** `description` of its metadata, or the beginning of it; undefined unless that is text. */
  readonly description: string | undefined
  readonly asset: Asset
  /** Maximum that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  readonly expiresAtMs: number
}

interface Row {
  readonly id: string
  readonly path: string
  readonly public_name: string | null
  readonly description: string | null
  readonly code: string
  readonly scale: number
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
}

/** One statement over four tables: Prisma's models would send one for each table, and the whole metadata. */
const DESCRIBE = new Statement<Row>(
  'describe-incoming-payments',
  Prisma.sql`
  select p.id, w.path, w.public_name, s.code, s.scale, p.incoming_value::text, p.received_value::text, p.completed, p.expires_at,
         case when jsonb_typeof(p.metadata -> 'description') = 'string'
              then left(p.metadata ->> 'description', ${DESCRIPTION_LENGTH_MAX}::integer) end as description
    from incoming_payment p ${WALLET_ADDRESS(Prisma.sql`p.wallet_address_id`)}
   where p.id = any (${placeholder('ids')}::uuid[])`
)

/** Finds incoming payments, by their ids (UUID). */
export async function describeIncomingPayments(
  on: Queries,
  ids: readonly string[]
): Promise<ReadonlyMap<string, DescribedIncomingPayment>> {
  if (ids.length === 0) return new Map()
  const rows = await DESCRIBE.rows(on, { ids })
  return new Map(rows.map((row) => [row.id, readRow(row)]))
}

function readRow(row: Row): DescribedIncomingPayment {
  return {
    path: row.path,
    publicName: row.public_name ?? undefined,
    description: row.description ?? undefined,
    asset: { code: row.code, scale: row.scale },
    incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
    receivedValue: BigInt(row.received_value),
    completed: row.completed,
    expiresAtMs: row.expires_at.getTime()
  }
}
