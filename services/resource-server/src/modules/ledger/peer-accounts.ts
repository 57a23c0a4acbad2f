import { placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/**
 * Fragment: creates the two accounts of a peer. Reads the part `asset_of_peer` (`id`, `code`, `scale`; no row for an unknown asset),
 * and takes `receivableAccountId`, `payableAccountId` and `now`. The part `peer_account` has a row for each.
 */
export const peerAccountsCreated = Prisma.sql`
  peer_account as (
    insert into account (id, kind, asset_id, asset_code, asset_scale, created_at)
    select account.id, account.kind::account_kind, asset_of_peer.id, code, scale, ${placeholder('now')}::timestamptz
      from asset_of_peer
     cross join (values (${placeholder('receivableAccountId')}::uuid, 'peer_receivable'),
                        (${placeholder('payableAccountId')}::uuid, 'peer_payable')) as account (id, kind)
    returning id
  )`

/** Fragment: the part `asset_of_peer`, the asset with `code` and `scale`, which it takes; empty if it is not accounted in here. */
export const assetOfPeer = Prisma.sql`
  asset_of_peer as (
    select id, code, scale from asset
     where exists (select 1 from account a where a.asset_id = asset.id) and code = ${placeholder('code')}::text and scale = ${placeholder('scale')}::smallint
  )`

/**
 * Fragment, an expression: what a peer owes; below 0 where it paid in advance.
 *
 * @param account names its receivable account
 */
export const receivableOf = (account: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(select a.debits_posted - a.credits_posted from account a where a.id = ${account})`

/**
 * Fragment, an expression: what the provider owes a peer.
 *
 * @param account names its payable account
 */
export const payableOf = (account: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(select a.credits_posted - a.debits_posted from account a where a.id = ${account})`

/**
 * Fragment: locks accounts in the order of their ids. The part `locked_account` (`id`, and `balance`, what was credited less what was debited)
 * has a row for each, as it is while it is locked.
 *
 * @param ids an array of ids; the expression is evaluated before the first lock
 */
export const lockedAccounts = (ids: Prisma.Sql): Prisma.Sql => Prisma.sql`
  locked_account as (
    select id, credits_posted - debits_posted as balance from account where id = any (${ids}) order by id for no key update
  )`

const LOCK = new Statement(
  'lock-accounts',
  Prisma.sql`with ${lockedAccounts(Prisma.sql`${placeholder('ids')}::uuid[]`)} select count(*) from locked_account`
)

/** Locks accounts, in the order of their ids (UUID), until the transaction ends. */
export async function lockAccounts(transaction: Queries, ids: readonly string[]): Promise<void> {
  await LOCK.rows(transaction, { ids: [...ids] })
}

/**
 * Fragment: books what a peer and the provider paid each other outside. Reads the part `settled` (`id`, `direction`, `value`,
 * `receivable_account_id`, `payable_account_id`, `asset_id`), and takes `now`. The part `settlement_total` has a row if it was booked.
 */
export const settlementPosted = Prisma.sql`
  settlement_transfer as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, posted_amount, created_at, ended_at)
    select s.id, case s.direction when 'received' then 'settlement_received' else 'settlement_sent' end::transfer_kind, 'posted',
           s.id,
           case s.direction when 'received' then outside.id else s.payable_account_id end,
           case s.direction when 'received' then 'outside' else 'peer_payable' end::account_kind,
           case s.direction when 'received' then s.receivable_account_id else outside.id end,
           case s.direction when 'received' then 'peer_receivable' else 'outside' end::account_kind,
           s.asset_id, s.value, s.value, ${placeholder('now')}::timestamptz, ${placeholder('now')}::timestamptz
      from settled s join account outside on outside.asset_id = s.asset_id and outside.kind = 'outside'
    returning id
  ), settlement_total as (
    update account a
       set credits_posted = a.credits_posted + case s.direction when 'received' then s.value else 0 end,
           debits_posted = a.debits_posted + case s.direction when 'sent' then s.value else 0 end
      from settled s
     where a.id = case s.direction when 'received' then s.receivable_account_id else s.payable_account_id end
    returning a.id
  )`

/**
 * Fragment, a query with one row: `value`, what was credited to an account, less what was debited, from an instant on (`from`) and before
 * another one (`to`).
 *
 * @param account names the account
 */
export const bookedWithin = (
  account: Prisma.Sql,
  { from, to }: { readonly from: Prisma.Sql; readonly to: Prisma.Sql }
): Prisma.Sql => Prisma.sql`
  select coalesce(sum(value), 0) as value
    from (select posted_amount as value from transfer
           where credit_account_id = ${account} and created_at >= ${from} and created_at < ${to}
          union all
          select -posted_amount from transfer
           where debit_account_id = ${account} and created_at >= ${from} and created_at < ${to}) booked`

/**
 * Fragment: books what packets to a peer sent that it fulfilled: from the exchange account of its asset to what the provider owes it.
 * Reads the part `dispatched` (`id`, `send_value`), and takes `payableAccountId` and `now`. The part `dispatch` has a row for each, and
 * `dispatch_total` (`account_id`, `value`, `added_value`) has one for the account if anything was booked: what the provider owes, and what of
 * that is new.
 */
export const dispatchPosted = Prisma.sql`
  payable as (
    select payable.id, exchange.id as exchange_id, payable.asset_id
      from account payable
      join account exchange on exchange.asset_id = payable.asset_id and exchange.kind = 'exchange'
     where payable.id = ${placeholder('payableAccountId')}::uuid
  ), dispatch as (
    insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
                          credit_account_kind, asset_id, amount, posted_amount, created_at, ended_at)
    select dispatched.id, 'dispatch', 'posted', dispatched.id, payable.exchange_id, 'exchange', payable.id, 'peer_payable',
           payable.asset_id, dispatched.send_value, dispatched.send_value, ${placeholder('now')}::timestamptz,
           ${placeholder('now')}::timestamptz
      from dispatched cross join payable
    returning amount
  ), dispatch_total as (
    update account a set credits_posted = a.credits_posted + total.value
      from (select sum(amount) as value from dispatch having count(*) > 0) total
     where a.id = (select id from payable)
    returning a.id as account_id, a.credits_posted - a.debits_posted as value, total.value as added_value
  )`
