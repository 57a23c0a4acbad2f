import { Prisma } from '../database.js'

/** Fragment, a condition: whether there is a rule about first payees. Computed once for a statement. */
const IS_ASKED_FOR = Prisma.sql`exists (select 1 from approval_rule where first_payee)`

/**
 * Fragment: the part `paid`, which remembers whom wallet addresses have paid. In one order, to avoid deadlocks.
 *
 * @param pairs selects `wallet_address_id`, and `payee_wallet_address_id` of the receiver
 * @param isAskedFor names a condition: nothing is read or remembered unless it holds
 */
export function paid(pairs: Prisma.Sql, isAskedFor = IS_ASKED_FOR): Prisma.Sql {
  return Prisma.sql`
  paid as (
    insert into known_payee (wallet_address_id, payee_wallet_address_id)
    select distinct wallet_address_id, payee_wallet_address_id from (${pairs}) as pairs
     where ${isAskedFor} order by 1, 2
    on conflict do nothing
  )`
}

/**
 * Fragment, a condition: whether a wallet address has paid another one.
 *
 * @param walletAddressId names the one that pays
 * @param payee names the one that is paid
 */
export function isPayeeKnown(walletAddressId: Prisma.Sql, payee: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`exists (
    select 1 from known_payee k where k.wallet_address_id = ${walletAddressId} and k.payee_wallet_address_id = ${payee})`
}
