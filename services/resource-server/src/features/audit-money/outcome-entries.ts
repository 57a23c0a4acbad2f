import type { Amount } from '@open-payments-server/value-types/amounts'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../../modules/database.js'

/** An entry of the outcomes, with the payment it belongs to. */
export interface OutcomeEntry {
  /** Id (UUID). */
  readonly paymentId: string
  /** Null while the payment is pending. */
  readonly outcome: 'settle' | 'release' | null
  /** Present with a settlement. */
  readonly settledDebitValue: bigint | undefined
  /** Present with a settlement. */
  readonly settledReceiveValue: bigint | undefined
  /** Whether the auth server acknowledged the outcome. */
  readonly delivered: boolean
  /** Whether its payment was lost by a change of the database's timeline and given up by an operator. */
  readonly isLost: boolean
  /**
   * Whether an operator accepted that no grant counts its payment: `changed` if the payment is no longer what it was then; undefined if
   * nobody did.
   */
  readonly acceptance: 'valid' | 'changed' | undefined
  /** Undefined for a payment id that was given up. */
  readonly payment: PersistedPayment | undefined
}

/** The content of a payment's reservation, which the auth server must know too. */
export interface PersistedPayment {
  /** Id (UUID). */
  readonly grantId: string
  readonly client: string
  /** URL. */
  readonly walletAddress: string
  /** URL. */
  readonly receiver: string
  readonly debitAmount: Amount
  readonly receiveAmount: Amount
  /** Whether a freeze is about it: of its client, of whom it is sent from, or of whom it is sent to. */
  readonly isFrozen: boolean
  /** Whether it goes to another provider, which may take long. */
  readonly isElsewhere: boolean
  /** The instant that the auth server charged it at, in milliseconds since the Unix epoch. */
  readonly chargedAtMs: number | undefined
  /**
   * Until when it awaited approval, in milliseconds since the Unix epoch: decided, or until its time is over; undefined if it met no
   * rule.
   */
  readonly awaitedApprovalUntilMs: number | undefined
  /** SHA-256 of the client's request. */
  readonly requestHash: Uint8Array
  /** What the grant had spent, this payment included, in units of the debit amount's asset. */
  readonly grantSpentDebitValue: bigint
  /** The same, in units of the receive amount's asset. */
  readonly grantSpentReceiveValue: bigint
}

interface Row {
  readonly payment_id: string
  readonly outcome: 'settle' | 'release' | null
  readonly settled_debit_value: string | null
  readonly settled_receive_value: string | null
  readonly delivered: boolean
  readonly is_lost: boolean
  /** Null unless it was accepted. */
  readonly is_as_accepted: boolean | null
  /** Null if there is no payment; then all that follows is null too. */
  readonly grant_id: string | null
  readonly client: string
  readonly path: string
  readonly receiver: string
  readonly debit_value: string
  readonly debit_code: string
  readonly debit_scale: number
  readonly receive_value: string
  readonly receive_code: string
  readonly receive_scale: number
  readonly is_frozen: boolean
  readonly is_elsewhere: boolean
  readonly charged_at: Date | null
  readonly awaited_until_at: Date | null
  readonly request_hash: Uint8Array
  readonly grant_spent_debit_value: string
  readonly grant_spent_receive_value: string
}

/** Before every id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Reads the outcomes by payment id, a page at a time.
 *
 * @param range.afterPaymentId where to continue; undefined begins with the first
 */
export async function* readOutcomeEntries(
  {
    pageSize,
    afterPaymentId = FIRST_ID
  }: { readonly pageSize: number; readonly afterPaymentId: string | undefined },
  { patientDatabase, urls }: { readonly patientDatabase: Queries; readonly urls: ResourceUrls }
): AsyncGenerator<OutcomeEntry, undefined> {
  let after = afterPaymentId
  for (;;) {
    const rows = await patientDatabase.$queryRaw<Row[]>(
      // The page is selected first, and then each payment separately. With a join, PostgreSQL would read all payments for
      // every page; `limit 1` prevents that.
      Prisma.sql`
        select r.payment_id, r.outcome, r.settled_debit_value::text, r.settled_receive_value::text, r.charged_at, r.delivered_at is not null as delivered,
               r.given_up_cause is not distinct from 'lost' as is_lost,
               (select (x.grant_id, x.settled_debit_value, x.settled_receive_value)
                         is not distinct from (p.grant_id, r.settled_debit_value, r.settled_receive_value)
                  from accepted_payment x where x.payment_id = r.payment_id) as is_as_accepted, p.*
          from (select * from grant_reservation where payment_id > ${after}::uuid order by payment_id
                 limit ${pageSize}::integer) r
          left join lateral (
            select o.grant_id, o.client, w.path, o.receiver, o.debit_value::text, d.code as debit_code,
                   d.scale as debit_scale, o.receive_value::text, c.code as receive_code, c.scale as receive_scale,
                   w.frozen_at is not null or a.frozen_at is not null
                     or exists (select 1 from frozen_client f where f.client = o.client)
                     or exists (select 1 from incoming_payment i
                                  join wallet_address rw on rw.id = i.wallet_address_id
                                  join account ra on ra.id = rw.account_id
                                 where i.id = substring(o.receiver from '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')::uuid
                                   and (rw.frozen_at is not null or ra.frozen_at is not null)) as is_frozen, o.peer_id is not null as is_elsewhere,
                   coalesce(v.decided_at, v.expires_at) as awaited_until_at, o.request_hash, o.grant_spent_debit_value::text, o.grant_spent_receive_value::text
              from outgoing_payment o
              join wallet_address w on w.id = o.wallet_address_id
              join account a on a.id = w.account_id
              join asset d on d.id = a.asset_id
              join asset c on c.id = o.receive_asset_id
              left join payment_approval v on v.payment_id = o.id
             where o.id = r.payment_id limit 1) p on true
         order by r.payment_id`
    )
    yield* rows.map((row) => toEntry(row, urls))
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) return
    after = last.payment_id
  }
}

function toEntry(row: Row, urls: ResourceUrls): OutcomeEntry {
  return {
    paymentId: row.payment_id,
    outcome: row.outcome,
    settledDebitValue: row.settled_debit_value === null ? undefined : BigInt(row.settled_debit_value),
    settledReceiveValue: row.settled_receive_value === null ? undefined : BigInt(row.settled_receive_value),
    delivered: row.delivered,
    isLost: row.is_lost,
    acceptance: row.is_as_accepted === null ? undefined : row.is_as_accepted ? 'valid' : 'changed',
    payment:
      row.grant_id === null
        ? undefined
        : {
            grantId: row.grant_id,
            client: row.client,
            walletAddress: urls.ofWalletAddress(row.path),
            receiver: row.receiver,
            debitAmount: {
              value: BigInt(row.debit_value),
              asset: { code: row.debit_code, scale: row.debit_scale }
            },
            receiveAmount: {
              value: BigInt(row.receive_value),
              asset: { code: row.receive_code, scale: row.receive_scale }
            },
            isFrozen: row.is_frozen,
            isElsewhere: row.is_elsewhere,
            chargedAtMs: row.charged_at?.getTime(),
            awaitedApprovalUntilMs: row.awaited_until_at?.getTime(),
            requestHash: row.request_hash,
            grantSpentDebitValue: BigInt(row.grant_spent_debit_value),
            grantSpentReceiveValue: BigInt(row.grant_spent_receive_value)
          }
  }
}
