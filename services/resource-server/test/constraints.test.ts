import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
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

/** A transfer of nobody's: with these accounts and this amount. */
const transfer = (debit: string, credit: string, amount = '1'): string => `
  insert into transfer (id, kind, state, debit_account_id, credit_account_id, asset_id, amount)
  select gen_random_uuid(), 'delivery', 'pending', d.id, c.id, d.asset_id, ${amount}
    from account d, account c where d.name = '${debit}' and c.name = '${credit}'`

// Each is what a bug in code could write. None of it is for code to prevent alone.
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
      'update outgoing_payment set sent_value = debit_value - 1',
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that is pending and has sent something',
      `update outgoing_payment set state = 'pending'`,
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that failed and delivered everything',
      `update outgoing_payment set state = 'failed', failure_reason = 'x'`,
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that failed for no reason',
      `update outgoing_payment set state = 'failed', sent_value = 0, delivered_value = 0`,
      'outgoing_payment_state_is_true'
    ],
    [
      'a payment that sent more than its debit',
      `update outgoing_payment set state = 'failed', failure_reason = 'x', sent_value = debit_value + 1,
              delivered_value = 0`,
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
      'a second place in the outbox for one payment id, given up or not',
      `insert into grant_reservation (payment_id) select payment_id from grant_reservation where outcome = 'release'`,
      'grant_reservation_pkey'
    ],
    [
      'a settlement of an unknown amount',
      `update grant_reservation set received_value = null where outcome = 'settle'`,
      'grant_reservation_outcome_whole'
    ],
    [
      'a release of an amount',
      `update grant_reservation set debited_value = 1, received_value = 1 where outcome = 'release'`,
      'grant_reservation_outcome_whole'
    ],
    [
      'an outcome that was delivered before there was one',
      `update grant_reservation set outcome = null where outcome = 'release'`,
      'grant_reservation_delivers_an_outcome'
    ],
    ['a transfer to an account in another asset', transfer('alice', 'carol'), 'transfer_credit_account_fkey'],
    ['a transfer from an account to itself', transfer('alice', 'alice'), 'transfer_between_two_accounts'],
    ['a transfer of nothing', transfer('alice', 'bob', '0'), 'transfer_amount_range'],
    [
      'a transfer that is posted with more than its amount',
      `update transfer set posted_amount = amount + 1 where state = 'posted'`,
      'transfer_state_is_true'
    ],
    [
      'a transfer that is voided and moved something',
      `update transfer set state = 'voided'`,
      'transfer_state_is_true'
    ]
  ])('%s', async (_what, statement, constraint) => {
    await expect(world.database.query(statement)).rejects.toMatchObject({ constraint })
  })
})
