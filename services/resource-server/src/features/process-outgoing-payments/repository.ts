import { isSerializationFailure } from '@open-payments-server/database'
import type { Pool, PoolClient } from 'pg'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { ClaimedPayment, LockedReceiver, SettledBatch } from './settle-batch.js'

/** Which pending payments to claim: the oldest, or certain ones. */
export interface Claim {
  readonly limit: number
  /** Ids (UUID); any when undefined. */
  readonly ids?: readonly string[]
  /** Ids (UUID) to pass over; none when undefined. */
  readonly except?: readonly string[]
}

/** How often a transaction that lost against another one is tried again. */
const RETRIES_MAX = 3

/**
 * Runs `work` in a transaction; again, when it lost against another one.
 *
 * @throws what `work` or the database throws; then nothing of it is kept
 */
export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    const client = await pool.connect()
    let broken: unknown
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch((failure: unknown) => {
        broken = failure
      })
      if (!isSerializationFailure(error) || retries >= RETRIES_MAX) throw error
    } finally {
      // A connection that could not roll back is in an unknown state.
      client.release(broken !== undefined)
    }
  }
}

// Payments are locked first and without waiting, then incoming payments, then accounts, each kind in the order of ids: two
// batches that touch the same rows wait for each other and never in a circle. "no key update" because rows that refer to
// these, such as the transfers of payments being created, need not wait. "array" makes the database lock every payment before
// the first incoming payment; those are read as the last commit left them, since that is what a lock reads.
const CLAIM = `
  with claimed as (
    select p.id, p.receiver, p.debit_value, p.fee_value, p.receive_value, p.receive_asset_id, w.account_id, a.asset_id,
           hold.id is not null as held, p.created_at,
           case when substring(p.receiver from length($1) + 1) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                then substring(p.receiver from length($1) + 1)::uuid end as incoming_payment_id
      from outgoing_payment p
      join wallet_address w on w.id = p.wallet_address_id
      join account a on a.id = w.account_id
      left join transfer hold on hold.id = p.id and hold.state = 'pending'
     where p.state = 'pending' and starts_with(p.receiver, $1) and ($2::uuid[] is null or p.id = any($2))
       and not (p.id = any($4::uuid[]))
     order by p.created_at, p.id
     limit $3
       for no key update of p skip locked
  ), receiver as (
    select i.id, i.incoming_value, i.received_value, i.completed, i.expires_at, w.account_id
      from incoming_payment i join wallet_address w on w.id = i.wallet_address_id
     where i.id = any (array(select incoming_payment_id from claimed)) order by i.id
       for no key update of i
  )
  select claimed.id, claimed.incoming_payment_id, claimed.debit_value, claimed.fee_value, claimed.receive_value,
         claimed.receive_asset_id, claimed.account_id, claimed.asset_id, claimed.held,
         receiver.account_id as receiver_account_id, receiver.incoming_value, receiver.received_value, receiver.completed,
         receiver.expires_at
    from claimed left join receiver on receiver.id = claimed.incoming_payment_id
   order by claimed.created_at, claimed.id`

interface ClaimRow {
  readonly id: string
  readonly incoming_payment_id: string | null
  readonly debit_value: string
  readonly fee_value: string
  readonly receive_value: string
  readonly receive_asset_id: number
  readonly account_id: string
  readonly asset_id: number
  readonly held: boolean
  /** Null where the incoming payment does not exist, like all that follows. */
  readonly receiver_account_id: string | null
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
}

/** Payments that are claimed, and the incoming payments that they pay, locked, by id; those that do not exist are missing. */
export interface ClaimedBatch {
  readonly payments: readonly ClaimedPayment[]
  readonly receivers: ReadonlyMap<string, LockedReceiver>
}

/**
 * Claims pending payments to receivers hosted here, and locks those, until the transaction ends. Payments claimed elsewhere
 * are skipped.
 */
export async function claimPayments(
  client: PoolClient,
  claim: Claim,
  urls: ResourceUrls
): Promise<ClaimedBatch> {
  const { rows } = await client.query<ClaimRow>({
    name: 'claim-outgoing-payments',
    text: CLAIM,
    values: [urls.of('incoming-payments', ''), claim.ids ?? null, claim.limit, claim.except ?? []]
  })
  const receivers = new Map<string, LockedReceiver>()
  for (const row of rows) {
    const { incoming_payment_id: id, receiver_account_id: accountId } = row
    if (id === null || accountId === null || receivers.has(id)) continue
    receivers.set(id, {
      id,
      accountId,
      incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
      receivedValue: BigInt(row.received_value),
      completed: row.completed,
      expiresAtMs: row.expires_at.getTime()
    })
  }
  return { payments: rows.map(toClaimedPayment), receivers }
}

function toClaimedPayment(row: ClaimRow): ClaimedPayment {
  return {
    id: row.id,
    incomingPaymentId: row.incoming_payment_id ?? undefined,
    amounts: {
      debit: BigInt(row.debit_value),
      fee: BigInt(row.fee_value),
      receive: BigInt(row.receive_value)
    },
    senderAccountId: row.account_id,
    debitAssetId: row.asset_id,
    receiveAssetId: row.receive_asset_id,
    held: row.held
  }
}

// One statement for the whole batch, whatever its size. Each part says which state it leaves, so that what was ended
// meanwhile in some other way is not ended again, and the counts tell. Every account is locked, in the order of ids, before the
// first is changed: an update would lock them in whatever order it meets them. They are looked up by "any (array" because a
// plan made while the tables were small, which a connection keeps, would read the whole of an index to join them; and the state
// of payments is compared as text because it would read the index of all that are pending, which may be few, and thousands that
// were not vacuumed yet.
const WRITE = `
  with ending as (
    select * from json_to_recordset($1::json)
      as e(id uuid, state outgoing_payment_state, failure_reason text, sent numeric, delivered numeric)
  ), payment as (
    update outgoing_payment p
       set state = e.state, failure_reason = e.failure_reason, sent_value = e.sent, delivered_value = e.delivered,
           updated_at = greatest(p.updated_at, $5)
      from ending e
     where p.id = e.id and p.id = any (array(select id from ending)) and p.state::text = 'pending' returning 1
  ), reservation as (
    update grant_reservation r
       set outcome = case when e.sent > 0 then 'settle' else 'release' end,
           debited_value = nullif(e.sent, 0), received_value = nullif(e.delivered, 0), outcome_since = now(),
           next_attempt_at = now()
      from ending e
     where r.payment_id = e.id and r.payment_id = any (array(select id from ending)) and r.outcome is null returning 1
  ), hold as (
    update transfer t
       set state = case when e.sent > 0 then 'posted' else 'voided' end::transfer_state,
           posted_amount = nullif(e.sent, 0), ended_at = $5
      from ending e
     where t.id = e.id and t.id = any (array(select id from ending)) and t.state = 'pending' returning 1
  ), moved as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, posted_amount, incoming_payment_id, created_at, ended_at)
    select id, kind, 'posted', payment_id,
           debit_account_id, case kind when 'conversion' then 'exchange' else 'clearing' end::account_kind,
           credit_account_id,
           case when kind = 'fee' then 'fees' when incoming_payment_id is null then 'exchange' else 'wallet' end::account_kind,
           asset_id, amount, amount, incoming_payment_id, $5, $5
      from json_to_recordset($2::json)
        as m(id uuid, kind transfer_kind, payment_id uuid, debit_account_id uuid, credit_account_id uuid,
             asset_id integer, amount numeric, incoming_payment_id uuid)
    returning 1
  ), change as (
    select * from json_to_recordset($3::json)
      as c(id uuid, debits_pending numeric, debits_posted numeric, credits_posted numeric)
  ), locked as (
    select id from account where id = any (array(select id from change)) order by id for no key update
  ), total as (
    update account a
       set debits_pending = a.debits_pending + c.debits_pending, debits_posted = a.debits_posted + c.debits_posted,
           credits_posted = a.credits_posted + c.credits_posted
      from change c
     where a.id = c.id and a.id = any (array(select id from locked)) returning 1
  ), receipt as (
    select * from json_to_recordset($4::json) as r(id uuid, delivered numeric)
  ), received as (
    update incoming_payment i
       set received_value = i.received_value + r.delivered,
           completed = i.completed or i.received_value + r.delivered >= i.incoming_value is true,
           updated_at = greatest(i.updated_at, $5)
      from receipt r
     where i.id = r.id and i.id = any (array(select id from receipt)) returning 1
  )
  select (select count(*) from payment)::integer as payments, (select count(*) from reservation)::integer as reservations,
         (select count(*) from hold)::integer as holds, (select count(*) from moved)::integer as transfers,
         (select count(*) from total)::integer as totals, (select count(*) from received)::integer as receivers`

type WrittenCounts = Readonly<
  Record<'payments' | 'reservations' | 'holds' | 'transfers' | 'totals' | 'receivers', number>
>

/**
 * Writes what a batch changes.
 *
 * @param newId makes the ids of transfers
 * @throws Error when the database is not as the batch was told: then the transaction must not be kept
 */
export async function writeBatch(
  client: PoolClient,
  batch: SettledBatch,
  nowMs: number,
  newId: () => string
): Promise<void> {
  const { rows } = await client.query<WrittenCounts>({
    name: 'settle-outgoing-payments',
    text: WRITE,
    values: [...toRecords(batch, newId).map((records) => JSON.stringify(records)), new Date(nowMs)]
  })
  const expected: WrittenCounts = {
    payments: batch.endings.length,
    reservations: batch.endings.length,
    holds: batch.endings.filter(({ held }) => held).length,
    transfers: batch.transfers.length,
    totals: batch.totals.length,
    receivers: batch.received.size
  }
  const [written] = rows
  for (const [name, count] of Object.entries(expected)) {
    const found = written?.[name as keyof WrittenCounts]
    if (found !== count)
      throw new Error(`settling must change ${count} ${name}, and would change ${String(found)}`)
  }
}

/** The records of {@link WRITE}, `$1` to `$4`. Numbers of arbitrary size travel as text. */
function toRecords(batch: SettledBatch, newId: () => string): object[][] {
  return [
    batch.endings.map(({ id, settlement }) => ({
      id,
      state: settlement.state,
      failure_reason: settlement.failureReason,
      sent: settlement.sent.toString(),
      delivered: settlement.delivered.toString()
    })),
    batch.transfers.map((transfer) => ({
      id: newId(),
      kind: transfer.kind,
      payment_id: transfer.paymentId,
      debit_account_id: transfer.debitAccountId,
      credit_account_id: transfer.creditAccountId,
      asset_id: transfer.assetId,
      amount: transfer.amount.toString(),
      incoming_payment_id: transfer.incomingPaymentId
    })),
    batch.totals.map((change) => ({
      id: change.accountId,
      debits_pending: change.debitsPending.toString(),
      debits_posted: change.debitsPosted.toString(),
      credits_posted: change.creditsPosted.toString()
    })),
    [...batch.received].map(([id, delivered]) => ({ id, delivered: delivered.toString() }))
  ]
}
