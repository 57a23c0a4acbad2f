import { randomBytes } from 'node:crypto'
import { type ConnectedSystem, createPeer } from '@open-payments-server/acceptance'
import type pg from 'pg'
import { forEachRange, SERIES, withClient } from './fill.js'
import { type GrowthPlan, madeAt, uuidOf } from './generated-values.js'

/** Name of the peer that all packets come from and go to. */
export const GROWN_PEER = 'grown-0'
/** Its packets of which nothing is known: they are more than a page. */
const UNKNOWN_PACKETS = 1_000
/** Peers, and endpoints of each service. An operator's first page looks at so many. */
const PEERS = 1_000
const ENDPOINTS = 1_000
/** Deliveries that each endpoint gave up. */
const GIVEN_UP = 100
/** One act for so many payments, and one proposal: nobody decided about the last of these, and it is over. */
const PAYMENTS_PER_ACT = 5
const PAYMENTS_PER_PROPOSAL = 50
/** Calls at the same time. */
const TOGETHER = 20

/**
 * Fills the databases of a system with what operators see besides payments: peers, and a packet from one of them and one to it for each
 * payment; endpoints, and an event for each payment with an attempt to deliver it to one of them; acts and proposals. Every constraint
 * holds, but an audit would miss the payments that the packets were for.
 *
 * @param plan what {@link fillSystem} made
 * @param deliveredTo id (UUID) of an endpoint of the resource server, which is enabled and gets nothing of it
 */
export async function fillOperated(
  system: ConnectedSystem,
  plan: GrowthPlan,
  deliveredTo: string
): Promise<void> {
  await makePeers(system)
  await withClient(system.resourceDatabase.url, async (client) => {
    await fillPackets(client, plan)
    await datePeersBack(client, plan)
    await fillEvents(client, plan, { kind: 'payment', type: 'outgoing_payment.completed' })
    await fillDeliveries(client, plan, deliveredTo)
    await fillActs(client, plan)
  })
  await withClient(system.authDatabase.url, async (client) => {
    await fillEvents(client, plan, { kind: 'grant', type: 'grant.approved' })
    await fillActs(client, plan)
  })
}

async function makePeers(system: ConnectedSystem): Promise<void> {
  const make = async (number: number): Promise<void> => {
    if (number >= PEERS) return
    const name = `grown-${String(number)}`
    const newToken = (): string => randomBytes(24).toString('hex')
    await createPeer(system, {
      ...{ name, ilpAddress: `test.${name}`, endpoint: 'http://127.0.0.1:9/' },
      ...{ incomingToken: newToken(), outgoingToken: newToken() },
      ...{ receivableLimitValue: '100000', payableLimitValue: '100000', lowAlertValue: '1000' }
    })
    await make(number + TOGETHER)
  }
  await Promise.all(Array.from({ length: TOGETHER }, (_, number) => make(number)))
}

/** Of one unit each. What is received is for the incoming payment with the same number, and what is sent for the outgoing one. */
async function fillPackets(client: pg.Client, plan: GrowthPlan): Promise<void> {
  const at = madeAt(plan)
  const [received, sent] = ['received', 'sent'].map((kind) => uuidOf(kind, plan))
  const [payment, incoming] = ['payment', 'incoming'].map((kind) => uuidOf(kind, plan))
  const proof = `sha256(('sent' || n)::bytea)`
  const ofPeer = `from peer where name = '${GROWN_PEER}'`
  const peer = `(select id ${ofPeer})`
  const transfer = `insert into transfer (id, kind, state, payment_id, debit_account_id, debit_account_kind, credit_account_id,
    credit_account_kind, asset_id, amount, posted_amount, incoming_payment_id, created_at, ended_at)`
  await forEachRange(client, plan.paymentCount, [
    `insert into received_packet (id, condition, peer_id, incoming_payment_id, packet_value, value, received_at)
     select ${received}, sha256(('received' || n)::bytea), ${peer}, ${incoming}, 1, 1, ${at} from ${SERIES}`,
    `${transfer}
     select ${received}, 'receipt', 'posted', ${received}, p.receivable_account_id, 'peer_receivable', w.account_id, 'wallet', p.asset_id,
            1, 1, i.id, ${at}, ${at}
       from ${SERIES} join incoming_payment i on i.id = ${incoming} join wallet_address w on w.id = i.wallet_address_id
       join peer p on p.name = '${GROWN_PEER}'`,
    `insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, outcome, delivered_value,
                              fulfillment, sent_at, expires_at, answered_at)
     select ${sent}, ${payment}, 1, ${peer}, sha256(${proof}), 1, 1, 'fulfilled', 1, ${proof}, ${at}, ${at} + interval '30 seconds', ${at}
       from ${SERIES}`,
    `${transfer}
     select ${sent}, 'dispatch', 'posted', ${sent}, e.id, 'exchange', p.payable_account_id, 'peer_payable', p.asset_id, 1, 1, null,
            ${at}, ${at}
       from ${SERIES} join peer p on p.name = '${GROWN_PEER}' join account e on e.asset_id = p.asset_id and e.kind = 'exchange'`
  ])
  await client.query(
    `insert into sent_packet (id, payment_id, sequence, peer_id, condition, send_value, deliver_min_value, sent_at, expires_at)
     select gen_random_uuid(), ${payment}, 2, ${peer}, sha256(('unknown' || n)::bytea), 1, 1, ${at}, ${at} + interval '30 seconds'
       from generate_series(1, ${Math.min(UNKNOWN_PACKETS, plan.paymentCount)}) n`
  )
  await client.query(
    `update account set debits_posted = debits_posted + $1 where id = (select receivable_account_id ${ofPeer})`,
    [plan.paymentCount]
  )
  await client.query(
    `update account set credits_posted = credits_posted + $1 where id = (select payable_account_id ${ofPeer})`,
    [plan.paymentCount]
  )
  await client.query(`
    update account a set credits_posted = a.credits_posted + t.received
      from (select credit_account_id, count(*) as received from transfer where kind = 'receipt' group by credit_account_id) t
     where a.id = t.credit_account_id`)
}

/** Peers are older than what they did, and none of their days was closed. */
async function datePeersBack(client: pg.Client, plan: GrowthPlan): Promise<void> {
  await client.query('begin')
  await client.query('lock table peer_day')
  await client.query('update peer set created_at = to_timestamp($1::bigint / 1000.0)', [plan.beginMs])
  await client.query('delete from peer_day')
  await client.query('commit')
}

/** An event for each payment, or for its grant. */
async function fillEvents(
  client: pg.Client,
  plan: GrowthPlan,
  { kind, type }: { readonly kind: 'payment' | 'grant'; readonly type: string }
): Promise<void> {
  // Whoever publishes waits meanwhile: numbers have no gaps.
  await client.query('begin')
  const { rows } = await client.query<{ last: string }>(
    'select last_number::text as last from event_log for update'
  )
  const last = rows[0]?.last ?? '0'
  await forEachRange(client, plan.paymentCount, [
    `insert into event (number, id, type, subject_id, occurred_at)
     select ${last} + n, ${uuidOf('event', plan)}, '${type}', ${uuidOf(kind, plan)}, ${madeAt(plan)} from ${SERIES}`
  ])
  await client.query('update event_log set last_number = last_number + $1', [plan.paymentCount])
  await client.query('update webhook_endpoint set reached_number = reached_number + $1', [plan.paymentCount])
  await client.query('commit')
}

/** Attempts of one endpoint, and what was given up by it and by others that are disabled. */
async function fillDeliveries(client: pg.Client, plan: GrowthPlan, deliveredTo: string): Promise<void> {
  await forEachRange(client, plan.paymentCount, [
    `insert into webhook_attempt (endpoint_id, event_id, event_type, attempted_at, duration_ms, status)
     select '${deliveredTo}', ${uuidOf('event', plan)}, 'outgoing_payment.completed', ${madeAt(plan)}, 12, 200 from ${SERIES}`
  ])
  await client.query(`
    insert into webhook_endpoint (id, url, types, secret, reached_number, disabled_cause, disabled_at, created_at)
    select gen_random_uuid(), 'https://hooks-' || n || '.example/', '{}', 'grown', last_number, 'operator', now(), now()
      from generate_series(1, ${ENDPOINTS}) n, event_log`)
  await client.query(`
    insert into webhook_delivery (endpoint_id, number, subject_id, attempts, first_attempted_at, given_up_at)
    select e.id, n, gen_random_uuid(), 9, now(), now() from webhook_endpoint e, generate_series(1, ${GIVEN_UP}) n`)
}

async function fillActs(client: pg.Client, plan: GrowthPlan): Promise<void> {
  const at = madeAt(plan)
  const person = `'person-' || n % 9 || ' at https://login.example', 'https://login.example', 'person-' || n % 9`
  await forEachRange(client, Math.floor(plan.paymentCount / PAYMENTS_PER_ACT), [
    `insert into operator_action (id, operator, operator_issuer, operator_sub, role, method, subject_kind, subject, request, reason,
                                  acted_at, before, after, outcome, ended_at)
     select ${uuidOf('act', plan)}, ${person}, 'operator', '/openpayments.wallet.v1.WalletOperatorService/FreezeAccount', 'account',
            'grown-' || n % 1000, '{"accountName":"grown"}', 'a reason', ${at}, '{"frozen":false}', '{"frozen":true}', 'done', ${at}
       from ${SERIES}`
  ])
  await forEachRange(client, Math.floor(plan.paymentCount / PAYMENTS_PER_PROPOSAL), [
    `insert into operator_proposal (id, method, subject_kind, subject, request, request_bytes, request_hash, reason, proposer,
       proposer_issuer, proposer_sub, proposed_at, expires_at, decision, decider, decider_issuer, decider_sub, decided_at)
     select ${uuidOf('proposal', plan)}, '/openpayments.wallet.v1.WalletOperatorService/Deposit', 'account', 'grown-' || n % 1000,
            '{"accountName":"grown","value":"100"}', '', sha256(n::text::bytea), 'a reason', ${person}, ${at}, ${at} + interval '1 day',
            made.decision, made.decider, made.decider, made.decider, case when made.decider is not null then ${at} end
       from ${SERIES}, lateral (select case when n % 7 > 0 then 'approved' end as decision,
                                       case when n % 7 > 0 then 'decider' end as decider) made`
  ])
}
