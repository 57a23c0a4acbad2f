import { instantText } from '@open-payments-server/database'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { Prisma, type Queries } from '../database.js'

/** An entry of the ledger, with both of its sides. Values are in units of its asset. */
export interface LedgerEntry extends PageEnd {
  readonly kind: string
  readonly state: 'pending' | 'posted' | 'voided'
  /** Name of a wallet account, or kind of an account of the provider. */
  readonly debitAccount: string
  readonly creditAccount: string
  readonly value: bigint
  /** undefined unless it is posted. */
  readonly postedValue: bigint | undefined
  readonly asset: Asset
  /** Id (UUID) of the payment, refund, packet or settlement that it belongs to. */
  readonly paymentId: string | undefined
  /** Id (UUID) of the incoming payment that it credits. */
  readonly incomingPaymentId: string | undefined
  readonly endedAtMs: number | undefined
}

interface Row {
  readonly id: string
  readonly kind: string
  readonly state: LedgerEntry['state']
  readonly debit_account: string
  readonly credit_account: string
  readonly amount: string
  readonly posted_amount: string | null
  readonly code: string
  readonly scale: number
  readonly payment_id: string | null
  readonly incoming_payment_id: string | null
  readonly created_at: Date
  readonly ended_at: Date | null
}

/** Each account and asset is looked up by its key: a join could read all of them. */
const nameOf = (id: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(select coalesce(a.name, a.kind::text) from account a where a.id = ${id})`

const COLUMNS = Prisma.sql`
  t.id, t.kind::text, t.state::text, ${nameOf(Prisma.sql`t.debit_account_id`)} as debit_account,
  ${nameOf(Prisma.sql`t.credit_account_id`)} as credit_account, t.amount::text, t.posted_amount::text,
  (select code from asset where asset.id = t.asset_id) as code, (select scale from asset where asset.id = t.asset_id) as scale,
  t.payment_id, t.incoming_payment_id, t.created_at, t.ended_at`

/**
 * Reads what moved the money of a payment, oldest first.
 *
 * @param of id (UUID) of an outgoing payment, refund, packet or settlement, or of an incoming payment
 */
export async function listEntriesOf(
  on: Queries,
  of: { readonly paymentId: string } | { readonly incomingPaymentId: string },
  limit: number
): Promise<readonly LedgerEntry[]> {
  const isOf =
    'paymentId' in of
      ? Prisma.sql`payment_id = ${of.paymentId}::uuid`
      : Prisma.sql`incoming_payment_id = ${of.incomingPaymentId}::uuid`
  const rows = await on.$queryRaw<Row[]>(Prisma.sql`
    select ${COLUMNS} from (select * from transfer where ${isOf} limit ${limit}::integer) t order by t.created_at, t.id`)
  return rows.map(readEntry)
}

/**
 * Lists what moved the money of an account, newest first: the newest of both sides by an index each, merged.
 *
 * @param range.after only older ones than at this position; undefined starts with the newest
 */
export async function listEntriesOfAccount(
  on: Queries,
  accountId: string,
  range: { readonly after: PageEnd | undefined; readonly limit: number }
): Promise<readonly LedgerEntry[]> {
  const { after, limit } = range
  const older =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`and created_at <= ${instantText(after.createdAtMs)}::timestamptz
                   and (created_at, id) < (${instantText(after.createdAtMs)}::timestamptz, ${after.id}::uuid)`
  const side = (account: Prisma.Sql): Prisma.Sql => Prisma.sql`
    (select * from transfer where ${account} = ${accountId}::uuid ${older}
      order by created_at desc, id desc limit ${limit}::integer)`
  const rows = await on.$queryRaw<Row[]>(Prisma.sql`
    select ${COLUMNS}
      from (${side(Prisma.sql`debit_account_id`)} union all ${side(Prisma.sql`credit_account_id`)}) t
     order by t.created_at desc, t.id desc limit ${limit}::integer`)
  return rows.map(readEntry)
}

function readEntry(row: Row): LedgerEntry {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    debitAccount: row.debit_account,
    creditAccount: row.credit_account,
    value: BigInt(row.amount),
    postedValue: row.posted_amount === null ? undefined : BigInt(row.posted_amount),
    asset: { code: row.code, scale: row.scale },
    paymentId: row.payment_id ?? undefined,
    incomingPaymentId: row.incoming_payment_id ?? undefined,
    createdAtMs: row.created_at.getTime(),
    endedAtMs: row.ended_at?.getTime()
  }
}
