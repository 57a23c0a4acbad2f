import type { ConnectedSystem } from '@open-payments-server/acceptance'
import pg from 'pg'
import {
  clientOf,
  DEBIT,
  FAILED,
  FEE,
  type GrowthPlan,
  madeAt,
  pathOf,
  RECEIVE,
  receiverOf,
  ROWS_PER_STATEMENT,
  senderOf,
  uuidOf
} from './generated-values.js'

const DAY_MS = 86_400_000
/** Age of the first payment of {@link fillSystem}, in days. */
const DAYS = 30

/**
 * Fills the databases of a system with payments of the last month, up to yesterday, by its shop and its market: see
 * {@link fillDatabases}.
 *
 * @returns what they were made by
 */
export async function fillSystem(
  system: ConnectedSystem,
  counts: Pick<GrowthPlan, 'paymentCount' | 'walletCount'>
): Promise<GrowthPlan> {
  const { shop, market, authDatabase, resourceDatabase, resourceServerUrl } = system
  const nowMs = Date.now()
  const plan = {
    ...counts,
    resourceServerUrl,
    clients: [shop.walletAddress, market.walletAddress],
    beginMs: nowMs - DAYS * DAY_MS,
    endMs: nowMs - DAY_MS
  }
  await fillDatabases({ auth: authDatabase.url, resource: resourceDatabase.url }, plan)
  return plan
}

/**
 * Fills both databases with payments that were made, processed and settled, as the services would have left them: every
 * constraint holds, and an audit finds no violations. Afterwards tables are vacuumed and analyzed. The databases must be migrated,
 * and the resource server's must have the asset USD with scale 2 and its accounts.
 *
 * @param urls of the databases, as users who may write to them
 */
export async function fillDatabases(
  urls: { readonly auth: string; readonly resource: string },
  plan: GrowthPlan
): Promise<void> {
  await Promise.all([
    withClient(urls.resource, (client) => fillResourceServer(client, plan)),
    withClient(urls.auth, (client) => fillAuthServer(client, plan))
  ])
}

/** Does what makes many rows, and then vacuums and analyzes everything. */
export async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('set synchronous_commit = off')
    await work(client)
    await client.query('vacuum (analyze)')
  } finally {
    await client.end()
  }
}

/** Runs statements once for every range of `n`, with its first and last number as `$1` and `$2`. */
export async function forEachRange(
  client: pg.Client,
  count: number,
  statements: readonly string[]
): Promise<void> {
  for (let first = 1; first <= count; first += ROWS_PER_STATEMENT) {
    const last = Math.min(count, first + ROWS_PER_STATEMENT - 1)
    for (const statement of statements) await client.query(statement, [first, last])
  }
}

/** The numbers of a range. */
export const SERIES = 'generate_series($1::integer, $2::integer) as n'

/** The hash of the request of payment `n`. */
const REQUEST_HASH = 'sha256(n::text::bytea)'

/** The hash that the auth server keeps of it, as `contentHash` computes it. */
function contentHashOf(grant: string, address: string, receiver: string): string {
  return `sha256(convert_to(format('["%s","%s","%s","%s"]', ${grant}, encode(${REQUEST_HASH}, 'hex'), ${address}, ${receiver}), 'UTF8'))`
}

async function fillResourceServer(client: pg.Client, plan: GrowthPlan): Promise<void> {
  await makeWallets(client, plan)
  const [sender, receiver] = [senderOf(plan), receiverOf(plan)]
  const at = madeAt(plan)
  const [payment, incoming, quote] = ['payment', 'incoming', 'quote'].map((kind) => uuidOf(kind, plan))
  const incomingUrl = `'${plan.resourceServerUrl}/incoming-payments/' || ${incoming}`
  const both = `${SERIES} join grown_wallet s on s.rank = ${sender} join grown_wallet r on r.rank = ${receiver}`
  const transfer = `insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
    credit_account_kind, asset_id, amount, posted_amount, incoming_payment_id, created_at, ended_at)`
  await forEachRange(client, plan.paymentCount, [
    `insert into incoming_payment (id, wallet_address_id, client, incoming_value, received_value, completed, expires_at,
                                   created_at, updated_at, shared_secret_key_id)
     select ${incoming}, r.wallet_address_id, ${clientOf(plan)}, ${RECEIVE}, case when ${FAILED} then 0 else ${RECEIVE} end,
            true, ${at} + interval '30 days', ${at}, ${at}, 'grown'
       from ${both}`,
    `insert into quote (id, wallet_address_id, client, receiver, debit_value, fee_value, receive_value, receive_asset_id, method,
                        expires_at, created_at)
     select ${quote}, s.wallet_address_id, ${clientOf(plan)}, ${incomingUrl}, ${DEBIT}, ${FEE}, ${RECEIVE}, s.asset_id, 'ilp',
            ${at} + interval '5 minutes', ${at}
       from ${both}`,
    `insert into outgoing_payment (id, wallet_address_id, client, grant_id, quote_id, receiver, debit_value, fee_value,
       receive_value, receive_asset_id, state, failure_reason, settled_debit_value, settled_receive_value, grant_spent_debit_value,
       grant_spent_receive_value, request_hash, signature_id, created_at, updated_at)
     select ${payment}, s.wallet_address_id, ${clientOf(plan)}, ${uuidOf('grant', plan)}, ${quote}, ${incomingUrl}, ${DEBIT},
            ${FEE}, ${RECEIVE}, s.asset_id, case when ${FAILED} then 'failed' else 'completed' end::outgoing_payment_state,
            case when ${FAILED} then 'receiver_completed' end::outgoing_payment_failure_reason, case when ${FAILED} then 0 else ${DEBIT} end,
            case when ${FAILED} then 0 else ${RECEIVE} end, ${DEBIT}, ${RECEIVE}, ${REQUEST_HASH},
            ${uuidOf('signature', plan)}, ${at}, ${at}
       from ${both}`,
    `insert into grant_reservation (payment_id, quote_id, fee_value, charged_at, held, outcome, settled_debit_value, settled_receive_value, attempts, next_attempt_at, delivered_at,
                                    created_at, outcome_since)
     select ${payment}, ${quote}, ${FEE}, ${at}, true, case when ${FAILED} then 'release' else 'settle' end, case when not ${FAILED} then ${DEBIT} end,
            case when not ${FAILED} then ${RECEIVE} end, 1, ${at}, ${at}, ${at}, ${at}
       from ${SERIES}`,
    `${transfer}
     select ${payment}, 'payment', case when ${FAILED} then 'voided' else 'posted' end::transfer_state, ${payment}, s.account_id,
            'wallet', s.clearing_id, 'clearing', s.asset_id, ${DEBIT}, case when not ${FAILED} then ${DEBIT} end, null, ${at}, ${at}
       from ${both}`,
    `${transfer}
     select ${uuidOf('delivery', plan)}, 'delivery', 'posted', ${payment}, s.clearing_id, 'clearing', r.account_id, 'wallet',
            s.asset_id, ${RECEIVE}, ${RECEIVE}, ${incoming}, ${at}, ${at}
       from ${both} where not ${FAILED}`,
    `${transfer}
     select ${uuidOf('fee', plan)}, 'fee', 'posted', ${payment}, s.clearing_id, 'clearing', s.fees_id, 'fees', s.asset_id, ${FEE},
            ${FEE}, null, ${at}, ${at}
       from ${both} where not ${FAILED} and ${FEE} > 0`
  ])
  await addUpTotals(client, plan)
}

/** Wallets with deposits for all their payments. */
async function makeWallets(client: pg.Client, plan: GrowthPlan): Promise<void> {
  const deposit = 1_000n * BigInt(plan.paymentCount)
  await client.query(`
    create temporary table grown_wallet as
    select rank, gen_random_uuid() as account_id, gen_random_uuid() as wallet_address_id, s.id as asset_id,
           (select id from account where asset_id = s.id and kind = 'clearing') as clearing_id,
           (select id from account where asset_id = s.id and kind = 'outside') as outside_id,
           (select id from account where asset_id = s.id and kind = 'fees') as fees_id
      from generate_series(0, ${plan.walletCount - 1}) as rank, asset s where s.code = 'USD' and s.scale = 2`)
  await client.query('alter table grown_wallet add primary key (rank)')
  await client.query('analyze grown_wallet')
  await client.query(`
    insert into account (id, kind, name, asset_id, asset_code, asset_scale)
    select account_id, 'wallet', 'grown-' || rank, asset_id, 'USD', 2 from grown_wallet`)
  await client.query(`
    insert into wallet_address (id, path, public_name, account_id)
    select wallet_address_id, ${pathOf('rank')}, 'Grown', account_id from grown_wallet`)
  await client.query(
    `insert into transfer (id, kind, state, debit_account_id, debit_account_kind, credit_account_id, credit_account_kind,
                           asset_id, amount, posted_amount, created_at, ended_at)
     select gen_random_uuid(), 'deposit', 'posted', outside_id, 'outside', account_id, 'wallet', asset_id, ${deposit}, ${deposit}, $1, $1
       from grown_wallet`,
    [new Date(plan.beginMs)]
  )
}

/** The totals of the wallets, derived from the transfers. */
async function addUpTotals(client: pg.Client, { paymentCount }: GrowthPlan): Promise<void> {
  if (paymentCount === 0) return
  await client.query(`
    update account a set debits_posted = t.debits, credits_posted = t.credits
      from (select account_id, sum(debit) as debits, sum(credit) as credits
              from (select debit_account_id as account_id, coalesce(posted_amount, 0) as debit, 0 as credit from transfer
                    union all
                    select credit_account_id, 0, coalesce(posted_amount, 0) from transfer) as side
             group by account_id) as t
     where a.id = t.account_id and a.id in (select account_id from grown_wallet)`)
}

async function fillAuthServer(client: pg.Client, plan: GrowthPlan): Promise<void> {
  const at = madeAt(plan)
  const [grant, item, payment] = ['grant', 'item', 'payment'].map((kind) => uuidOf(kind, plan))
  const address = `'${plan.resourceServerUrl}' || ${pathOf(senderOf(plan))}`
  const incomingUrl = `'${plan.resourceServerUrl}/incoming-payments/' || ${uuidOf('incoming', plan)}`
  await forEachRange(client, plan.paymentCount, [
    `insert into grant_request (id, state, client_wallet_address, client_name, key_id, key_x, continuation_token_hash, created_at,
                                updated_at)
     select ${grant}, 'issued', ${clientOf(plan)}, 'Grown', 'key', 'x', sha256(('continuation' || n)::bytea), ${at}, ${at}
       from ${SERIES}`,
    `insert into access_item (id, grant_id, position, type, actions, identifier, limit_debit_value, limit_debit_code,
                              limit_debit_scale)
     select ${item}, ${grant}, 0, 'outgoing-payment', '{create,read}', ${address}, 100000, 'USD', 2 from ${SERIES}`,
    `insert into interaction (id, grant_id, wallet_address, nonce, reference, state, expires_at)
     select ${uuidOf('interaction', plan)}, ${grant}, ${address}, md5('nonce' || n), md5('reference' || n), 'APPROVED',
            ${at} + interval '10 minutes'
       from ${SERIES}`,
    `insert into access_token (id, grant_id, value_hash, expires_at, created_at)
     select ${uuidOf('token', plan)}, ${grant}, sha256(('token' || n)::bytea), ${at} + interval '10 minutes', ${at} from ${SERIES}`,
    `insert into limit_window (access_item_id, interval_index, spent_debit_value, spent_receive_value, debit_code, debit_scale,
                               receive_code, receive_scale, limit_debit_value)
     select ${item}, 0, case when ${FAILED} then 0 else ${DEBIT} end, case when ${FAILED} then 0 else ${RECEIVE} end, 'USD', 2,
            'USD', 2, 100000
       from ${SERIES}`,
    `insert into reservation (payment_id, state, content_hash, grant_id, access_item_id, interval_index, debit_value,
       debit_code, debit_scale, receive_value, receive_code, receive_scale, receive_counted, spent_debit_value,
       spent_receive_value, settled_debit_value, settled_receive_value, created_at, ended_at, wallet_address, receiver, charged_at)
     select ${payment}, case when ${FAILED} then 'released' else 'settled' end::reservation_state,
            ${contentHashOf(String(grant), address, incomingUrl)}, ${grant}, ${item}, 0, ${DEBIT}, 'USD', 2, ${RECEIVE}, 'USD', 2, true, ${DEBIT},
            ${RECEIVE}, case when not ${FAILED} then ${DEBIT} end, case when not ${FAILED} then ${RECEIVE} end, ${at}, ${at}, ${address},
            ${incomingUrl}, ${at}
       from ${SERIES}`
  ])
}
