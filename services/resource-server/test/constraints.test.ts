import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FAILURE_REASONS } from '../src/domain/failure-reasons.js'
import { ALICE, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld

// One payment of 1.00 from a quote, completed; its receiver has room for 4.00 more. One payment id that was given up.
beforeAll(async () => {
  world = await startPaymentWorld({ settings: { SWEEP_INTERVAL_SECONDS: '3600' } })
  const receiver = await world.createReceiver({ incomingAmount: usd(500) })
  const quoteId = await world.createQuote(receiver, { receiveAmount: usd(100) })
  const body = { walletAddress: ALICE, quoteId }
  const created = await world.request('POST', '/outgoing-payments', { body })
  await world.whenEnded(created.textAt('id'))
  await world.database.query(
    `insert into grant_reservation (payment_id, outcome) values (gen_random_uuid(), 'release')`
  )
  await world.whenDelivered()
})
afterAll(() => world.stop())

/** A copy of the payment, changed. */
const copyOfPayment = (change: { id?: string; quoteId?: string; signatureId?: string }): string => `
  insert into outgoing_payment
  select (jsonb_populate_record(p, jsonb_build_object(
            'id', ${change.id ?? 'gen_random_uuid()'},
            'quote_id', ${change.quoteId ?? 'gen_random_uuid()'},
            'signature_id', ${change.signatureId ?? 'gen_random_uuid()'}))).*
    from outgoing_payment p`

/** A posted transfer between accounts: named for a wallet, by its kind for the provider's own in USD. */
const transfer = (
  kind: string,
  debit: string,
  credit: string,
  { amount = '1', payment = 'null', incoming = 'null', debitKind = 'd.kind' } = {}
): string => `
  insert into transfer (id, kind, state, payment_id, incoming_payment_id, debit_account_id, debit_account_kind,
                        credit_account_id, credit_account_kind, asset_id, amount, posted_amount, ended_at)
  select gen_random_uuid(), '${kind}', 'posted', ${payment}, ${incoming}, d.id, ${debitKind}, c.id, c.kind, d.asset_id,
         ${amount}, ${amount}, now()
    from account d, account c, asset s
   where s.code = 'USD' and '${debit}' in (d.name, case d.asset_id when s.id then d.kind::text end)
     and '${credit}' in (c.name, case c.asset_id when s.id then c.kind::text end)`
const ofPayment = { payment: '(select id from outgoing_payment)' }
const toReceiver = { ...ofPayment, incoming: '(select id from incoming_payment)' }

// Each could be written by a bug in the code, so the database must refuse it.
describe('the database itself refuses', () => {
  it.each<[what: string, statement: string, constraint: string]>([
    [
      'a wallet that has spent more than it has',
      `update account set debits_posted = credits_posted + 1 where name = 'alice'`,
      'account_wallet_not_overdrawn'
    ],
    [
      'a wallet that holds more for payments than it has',
      `update account set debits_pending = credits_posted - debits_posted + 1 where name = 'alice'`,
      'account_wallet_not_overdrawn'
    ],
    [
      'a wallet that holds less than nothing',
      `update account set debits_pending = -1 where name = 'alice'`,
      'account_totals_not_negative'
    ],
    [
      'another scale for an asset that has accounts',
      `update asset set scale = 3 where code = 'USD'`,
      'account_asset_fkey'
    ],
    [
      'a wallet without a name',
      `update account set name = null where name = 'alice'`,
      'account_wallet_is_named'
    ],
    [
      "totals in the provider's own accounts, which are added up",
      `update account set credits_posted = 1 where kind = 'fees'`,
      'account_provider_keeps_no_totals'
    ],
    [
      'an incoming payment that received more than its maximum',
      'update incoming_payment set received_value = incoming_value + 1, completed = true',
      'incoming_payment_received_within_incoming'
    ],
    [
      'an incoming payment that is full and goes on',
      'update incoming_payment set received_value = incoming_value',
      'incoming_payment_full_is_completed'
    ],
    [
      'a payment that is completed and has not sent everything',
      'update outgoing_payment set settled_debit_value = debit_value - 1',
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that is pending and has sent something',
      `update outgoing_payment set state = 'pending'`,
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that failed and delivered everything',
      `update outgoing_payment set state = 'failed', failure_reason = 'partially_delivered'`,
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that failed for no reason',
      `update outgoing_payment set state = 'failed', settled_debit_value = 0, settled_receive_value = 0`,
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that sent more than its debit',
      `update outgoing_payment set state = 'failed', failure_reason = 'partially_delivered', settled_debit_value = debit_value + 1,
              settled_receive_value = 0`,
      'outgoing_payment_amounts_range'
    ],
    ['a second payment under one id', copyOfPayment({ id: 'p.id' }), 'outgoing_payment_pkey'],
    [
      'a second payment from one quote',
      copyOfPayment({ quoteId: 'p.quote_id' }),
      'outgoing_payment_quote_id_key'
    ],
    [
      'a second payment of one signed request',
      copyOfPayment({ signatureId: 'p.signature_id' }),
      'outgoing_payment_signature_id_key'
    ],
    [
      'a second entry among the outcomes for one payment id, given up or not',
      `insert into grant_reservation (payment_id) select payment_id from grant_reservation where outcome = 'release'`,
      'grant_reservation_pkey'
    ],
    [
      'a settlement of an unknown amount',
      `update grant_reservation set settled_receive_value = null where outcome = 'settle'`,
      'grant_reservation_outcome_whole'
    ],
    [
      'a release of an amount',
      `update grant_reservation set settled_debit_value = 1, settled_receive_value = 1 where outcome = 'release'`,
      'grant_reservation_outcome_whole'
    ],
    [
      'an outcome that was delivered before there was one',
      `update grant_reservation set outcome = null where outcome = 'release'`,
      'grant_reservation_delivers_an_outcome'
    ],
    [
      'a transfer to an account in another asset',
      transfer('deposit', 'outside', 'carol'),
      'transfer_credit_account_fkey'
    ],
    [
      'a transfer that says another kind of its account than it is of',
      transfer('deposit', 'alice', 'bob', { debitKind: `'outside'` }),
      'transfer_debit_account_fkey'
    ],
    [
      'an account of transfers that becomes one of another kind',
      `update account set kind = case kind when 'outside' then 'fees' else 'outside' end::account_kind
        where kind in ('outside', 'fees') and asset_id = (select id from asset where code = 'USD')`,
      'account_provider_has_one_of_each_kind'
    ],
    ...(
      [
        ['fee', 'alice', 'bob', ofPayment],
        ['fee', 'clearing', 'bob', ofPayment],
        ['delivery', 'alice', 'bob', toReceiver],
        ['delivery', 'exchange', 'bob', toReceiver],
        ['conversion', 'alice', 'bob', toReceiver],
        ['conversion', 'fees', 'bob', toReceiver],
        ['conversion', 'clearing', 'exchange', ofPayment],
        ['deposit', 'exchange', 'bob', {}],
        ['deposit', 'fees', 'bob', {}],
        ['withdrawal', 'alice', 'exchange', {}]
      ] as const
    ).map(([kind, debit, credit, more]): [string, string, string] => [
      `a ${kind} from ${debit} to ${credit}`,
      transfer(kind, debit, credit, more),
      'transfer_joins_its_kinds'
    ]),
    ...(
      [
        ['receipt', 'alice', 'bob', toReceiver],
        ['receipt', 'exchange', 'bob', toReceiver],
        ['receipt_conversion', 'alice', 'bob', toReceiver],
        ['settlement_received', 'alice', 'outside', ofPayment],
        ['settlement_received', 'outside', 'bob', ofPayment],
        ['settlement_sent', 'alice', 'outside', ofPayment]
      ] as const
    ).map(([kind, debit, credit, more]): [string, string, string] => [
      `a ${kind} from ${debit} to ${credit}`,
      transfer(kind, debit, credit, more),
      'transfer_of_peer_joins_its_kinds'
    ]),
    ['a fee without a payment', transfer('fee', 'clearing', 'fees'), 'transfer_names_its_payment'],
    [
      'a deposit that names a payment',
      transfer('deposit', 'outside', 'bob', ofPayment),
      'transfer_names_its_payment'
    ],
    [
      'a delivery to a wallet that no incoming payment asked for',
      transfer('delivery', 'clearing', 'bob', ofPayment),
      'transfer_names_its_receiver'
    ],
    [
      'a delivery to the exchange account that an incoming payment is said to have received',
      transfer('delivery', 'clearing', 'exchange', toReceiver),
      'transfer_names_its_receiver'
    ],
    [
      'a hold beside that of its payment',
      transfer('payment', 'alice', 'clearing', ofPayment),
      'transfer_holds_for_a_payment'
    ],
    [
      'a delivery of which only a part is posted',
      `update transfer set amount = amount + 1 where kind = 'delivery'`,
      'transfer_holds_for_a_payment'
    ],
    [
      'a transfer of nothing',
      transfer('deposit', 'outside', 'bob', { amount: '0' }),
      'transfer_amount_range'
    ],
    [
      'a transfer that is posted with more than its amount',
      `update transfer set posted_amount = amount + 1 where kind = 'payment'`,
      'transfer_state_is_true'
    ],
    [
      'a transfer that is voided and moved something',
      `update transfer set state = 'voided' where kind = 'payment'`,
      'transfer_state_is_true'
    ]
  ])('%s', async (_what, statement, constraint) => {
    await expect(world.database.query(statement)).rejects.toMatchObject({ constraint })
  })
})

it('the database knows the same reasons for a failure as the code, and takes no other', async () => {
  const rows = await world.database.query<{ reason: string }>(
    'select unnest(enum_range(null::outgoing_payment_failure_reason))::text as reason'
  )
  expect(rows.map(({ reason }) => reason)).toEqual(Object.keys(FAILURE_REASONS))
})
