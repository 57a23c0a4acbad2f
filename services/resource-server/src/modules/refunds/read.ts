import { bytesText, instantText, placeholder, readBytes, Statement } from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { Refund } from '../../domain/refund.js'
import { Prisma, type Queries } from '../database.js'
import { readRefundRow, REFUND_COLUMNS, REFUND_JOINS, type RefundRow } from './row.js'

/** A refund that was found, and what was asked for with its key. */
export interface FoundRefund {
  readonly refund: Refund
  /** undefined without an idempotency key. */
  readonly requestHash: Buffer | undefined
}

/** One statement over two tables: Prisma's models would send one for each table. Rare, so it is planned anew. */
const FIND = new Statement<RefundRow & { readonly request_hash: string | null }>(
  'find-refund',
  Prisma.sql`
  select ${REFUND_COLUMNS}, f.request_hash from refund f ${REFUND_JOINS}
   where f.id = ${placeholder('id')}::uuid or f.idempotency_hash = ${placeholder('idempotencyHash')}::bytea`,
  { prepared: false }
)

/** Finds the refund with an id (UUID), or the one that was made with a key, by the SHA-256 of that. */
export async function findRefund(
  on: Queries,
  { id, idempotencyHash }: { readonly id: string; readonly idempotencyHash: Buffer | undefined }
): Promise<FoundRefund | undefined> {
  const [row] = await FIND.rows(on, {
    id,
    idempotencyHash: idempotencyHash === undefined ? null : bytesText(idempotencyHash)
  })
  return (
    row && {
      refund: readRefundRow(row),
      requestHash: row.request_hash === null ? undefined : readBytes(row.request_hash)
    }
  )
}

/** Which refunds to list. */
export interface RefundRange {
  /** Id (UUID) of the payment whose refunds are listed; undefined for those of all. */
  readonly refundOf: string | undefined
  /** Only older ones than at this position; undefined starts with the newest. */
  readonly after: PageEnd | undefined
  readonly limit: number
}

/** Lists refunds, newest first. Keyset pagination over the matching index, planned anew for each range. */
export async function listRefunds(
  on: Queries,
  { refundOf, after, limit }: RefundRange
): Promise<readonly Refund[]> {
  const ofPayment = refundOf === undefined ? Prisma.empty : Prisma.sql`and f.refund_of = ${refundOf}::uuid`
  const afterPosition =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`and (f.created_at, f.id) < (${instantText(after.createdAtMs)}::timestamptz, ${after.id}::uuid)`
  const rows = await on.$queryRaw<RefundRow[]>(Prisma.sql`
    select ${REFUND_COLUMNS} from refund f ${REFUND_JOINS}
     where true ${ofPayment} ${afterPosition}
     order by f.created_at desc, f.id desc
     limit ${limit}::integer`)
  return rows.map(readRefundRow)
}
