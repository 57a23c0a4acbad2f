import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { damageDatabase } from '@open-payments-server/testing'
import { allSettled, amount } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'
import { Correspondence } from '../src/wallets.js'

const USD = { code: 'USD', scale: 2 }

let system: System
/** Id of a payment of 5.00 USD from alice to bob, under a grant of 10.00 USD a month. */
let payment: string
/** Another grant of alice, and the receiver that it pays. */
let otherGrant: string
let otherReceiver: string

beforeAll(async () => {
  system = await startSystem({ resource: { SWEEP_INTERVAL_SECONDS: '3600' } })
  const { alice, bob } = system.walletAddresses
  const wallets = {
    from: { name: 'alice', walletAddress: alice, asset: USD },
    to: { name: 'bob', walletAddress: bob, asset: USD }
  }
  const start = new Date(system.clock.now() - 45 * 86_400_000).toISOString()
  const limits = { interval: `R12/${start}/P30D`, debitAmount: amount(1_000) }
  const pay = async (): Promise<{ id: string; receiver: string }> => {
    const payer = await Correspondence.open(system, system.shop, wallets, limits)
    const receiver = await payer.createReceiver()
    const paid = await payer.pay(receiver, amount(500))
    return { id: paid.textAt('id').slice(-36), receiver }
  }
  payment = (await pay()).id
  const other = await pay()
  otherReceiver = other.receiver
  const [row] = await system.resourceDatabase.query<{ grant_id: string }>(
    'select grant_id from outgoing_payment where id = $1',
    [other.id]
  )
  otherGrant = row?.grant_id ?? ''
  await allSettled(system)
})
afterAll(() => system.stop())

/** What is done to each database by hand, so that each is in order by itself, and what the audit must say. */
interface Corruption {
  readonly resource: () => string
  readonly auth: () => string
  readonly named: () => string
}

/** The payment's row, its transfers and its reservation. */
const itself = (): string => `id = '${payment}'`
const itsTransfers = (kind: string): string => `payment_id = '${payment}' and kind = '${kind}'`
const itsReservation = (): string => `payment_id = '${payment}'`
const itsWindow = (): string =>
  `(access_item_id, interval_index) in (select access_item_id, interval_index from reservation where ${itsReservation()})`

/** An account's totals, grown by more debits or credits. */
const addTo = (account: string, column: string, value: number): string =>
  `update account set ${column} = ${column} + ${String(value)} where name = '${account}'`

it.each<[what: string, Corruption]>([
  [
    'another receiver',
    {
      resource: () => `
        update incoming_payment set received_value = received_value - 500
         where id = (select incoming_payment_id from transfer where ${itsTransfers('delivery')});
        update incoming_payment set received_value = received_value + 500 where id = '${otherReceiver.slice(-36)}';
        update transfer set incoming_payment_id = '${otherReceiver.slice(-36)}' where ${itsTransfers('delivery')};
        update outgoing_payment set receiver = '${otherReceiver}' where ${itself()}`,
      auth: () => `update reservation set receiver = '${otherReceiver}' where ${itsReservation()}`,
      named: () => `payment ${payment}: its hash over grant, request, wallet address and receiver is here`
    }
  ],
  [
    'another grant, with all that it counts',
    {
      resource: () => `update outgoing_payment set grant_id = '${otherGrant}' where ${itself()}`,
      auth: () => `
        update limit_window set spent_debit_value = spent_debit_value - 500, spent_receive_value = spent_receive_value - 500
         where ${itsWindow()};
        update limit_window set spent_debit_value = spent_debit_value + 500, spent_receive_value = spent_receive_value + 500
         where access_item_id = (select id from access_item where grant_id = '${otherGrant}');
        update reservation set grant_id = '${otherGrant}', spent_debit_value = 1000, spent_receive_value = 1000,
               access_item_id = (select id from access_item where grant_id = '${otherGrant}')
         where ${itsReservation()}`,
      named: () =>
        `payment ${payment}: its amount debited under its grant is here 500, at the auth server 1000; ` +
        'its amount received under its grant is here 500, at the auth server 1000; ' +
        'its hash over grant, request, wallet address and receiver is here'
    }
  ],
  [
    'money moved twice',
    {
      resource: () => `
        create temporary table twice on commit drop as
          select t.* from transfer t where t.payment_id = '${payment}';
        update twice set id = gen_random_uuid();
        insert into transfer table twice;
        ${addTo('alice', 'debits_posted', 500)};
        ${addTo('bob', 'credits_posted', 500)};
        update incoming_payment set received_value = received_value + 500
         where id = (select incoming_payment_id from twice where kind = 'delivery')`,
      auth: () => 'select',
      named: () => `payment ${payment} has 2 transfers of the kind delivery`
    }
  ],
  [
    'another interval, with the instant of its charge',
    {
      resource: () =>
        `update grant_reservation set charged_at = charged_at - interval '30 days' where ${itsReservation()}`,
      auth: () => `
        update limit_window set interval_index = interval_index - 1 where ${itsWindow()};
        update reservation set interval_index = interval_index - 1, charged_at = charged_at - interval '30 days'
         where ${itsReservation()}`,
      named: () => `outgoing payment ${payment} was signed at`
    }
  ],
  [
    'a consent without limits, which is missing',
    {
      resource: () => 'select',
      auth: () => `
        update limit_window set limit_debit_value = null where ${itsWindow()};
        delete from access_item where id = (select access_item_id from reservation where ${itsReservation()})`,
      named: () => 'there is no such access item'
    }
  ],
  [
    'a higher amount',
    {
      resource: () => `
        update outgoing_payment set debit_value = 600, receive_value = 600, settled_debit_value = 600, settled_receive_value = 600 where ${itself()};
        update grant_reservation set settled_debit_value = 600, settled_receive_value = 600 where ${itsReservation()};
        update transfer set amount = 600, posted_amount = 600 where payment_id = '${payment}';
        ${addTo('alice', 'debits_posted', 100)};
        ${addTo('bob', 'credits_posted', 100)};
        update incoming_payment set received_value = 600
         where id = (select incoming_payment_id from transfer where ${itsTransfers('delivery')})`,
      auth: () => `
        update limit_window set spent_debit_value = 600, spent_receive_value = 600 where ${itsWindow()};
        update reservation set debit_value = 600, receive_value = 600, settled_debit_value = 600, settled_receive_value = 600
         where ${itsReservation()}`,
      named: () =>
        `outgoing payment ${payment}: with it, 500 debited and 500 received were counted under its grant, less than the payment itself`
    }
  ],
  [
    'half of a delivered payment given back',
    {
      resource: () => `
        update outgoing_payment set state = 'failed', failure_reason = 'partially_delivered', settled_debit_value = 250, settled_receive_value = 250
         where ${itself()};
        update grant_reservation set settled_debit_value = 250, settled_receive_value = 250 where ${itsReservation()};
        update transfer set posted_amount = 250 where payment_id = '${payment}';
        update transfer set amount = 250 where ${itsTransfers('delivery')};
        ${addTo('alice', 'debits_posted', -250)};
        ${addTo('bob', 'credits_posted', -250)};
        update incoming_payment set received_value = 250
         where id = (select incoming_payment_id from transfer where ${itsTransfers('delivery')})`,
      auth: () => `
        update limit_window set spent_debit_value = 250, spent_receive_value = 250 where ${itsWindow()};
        update reservation set settled_debit_value = 250, settled_receive_value = 250 where ${itsReservation()}`,
      named: () =>
        `outgoing payment ${payment}: it failed with partially_delivered, which its receiver or its terms contradict`
    }
  ],
  [
    'a wallet whose account holder did not agree',
    {
      resource: () => `
        update outgoing_payment set wallet_address_id = (select id from wallet_address where path = '/bob') where ${itself()};
        update transfer set debit_account_id = (select id from account where name = 'bob') where ${itsTransfers('payment')};
        ${addTo('alice', 'debits_posted', -500)};
        ${addTo('bob', 'debits_posted', 500)}`,
      auth: () => `
        update reservation set wallet_address = '${system.walletAddresses.bob}' where ${itsReservation()};
        update access_item set identifier = '${system.walletAddresses.bob}'
         where id = (select access_item_id from reservation where ${itsReservation()})`,
      named: () =>
        `Payment ${payment}: paid from ${system.walletAddresses.bob}, and the account holder of ${system.walletAddresses.alice} agreed`
    }
  ],
  [
    'a grant that was revoked before it was charged',
    {
      resource: () => 'select',
      auth: () => `
        update grant_request set state = 'revoked', updated_at = updated_at - interval '1 day'
         where id = (select grant_id from reservation where ${itsReservation()})`,
      named: () => `Payment ${payment}: charged at`
    }
  ]
])(
  'an audit names both databases changed by hand to tell of %s',
  async (_what, { resource, auth, named }) => {
    expect(await system.audit()).toEqual([])
    const restoreResource = await damageDatabase(system.resourceDatabase, resource())
    const restoreAuth = await damageDatabase(system.authDatabase, auth())
    const violations = await system.audit()
    await restoreResource()
    await restoreAuth()
    expect(violations.join('\n')).toContain(named())
  }
)
