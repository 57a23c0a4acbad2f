import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { damageDatabase } from '@open-payments-server/testing'
import { ALICE, CAROL, eur, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld
/** 10.00 USD with a fee of 0.20, for 8.82 EUR. */
let whole: string
/** The same, of which 1.00 EUR was delivered for 1.14 USD. */
let part: string
/** 1.00 USD with a fee, on a quote. */
let quoted: string
/** A quote of the same terms, which no payment used. */
let otherQuote: string

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: {
      SWEEP_INTERVAL_SECONDS: '3600',
      EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1',
      FEES: 'USD=10+100'
    }
  })
  whole = await pay(await world.createReceiver({ walletAddress: CAROL }))
  const receiver = await world.createReceiver({ walletAddress: CAROL, incomingAmount: eur(882) })
  part = await payWhileItFills(receiver)
  const quote = await world.createQuote(await world.createReceiver({ walletAddress: CAROL }), {
    debitAmount: usd(100)
  })
  otherQuote = (await world.createQuoteElsewhere(quote)).slice(-36)
  const paid = await world.request('POST', '/outgoing-payments', {
    body: { walletAddress: ALICE, quoteId: quote }
  })
  await world.whenEnded(paid.textAt('id'))
  quoted = paid.textAt('id').slice(-36)
  await world.whenDelivered()
})
afterAll(() => world.stop())

async function pay(receiver: string): Promise<string> {
  const url = (await world.pay(receiver, 1_000)).textAt('id')
  await world.whenEnded(url)
  return url.slice(-36)
}

/** Pays a receiver that has room for only 1.00 EUR once the payment is persisted. */
async function payWhileItFills(receiver: string): Promise<string> {
  const holder = await world.server.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select 1 from incoming_payment where id = $1 for update', [receiver.slice(-36)])
    const url = (await world.pay(receiver, 1_000)).textAt('id')
    await holder.query('update incoming_payment set incoming_value = 100 where id = $1', [
      receiver.slice(-36)
    ])
    await holder.query('commit')
    await world.whenEnded(url)
    return url.slice(-36)
  } finally {
    holder.release()
  }
}

describe('an audit of payments between assets, with fees, and in part', () => {
  it('finds nothing where all adds up', async () => {
    expect(await world.audit()).toEqual([])
  })

  it.each<[what: string, damage: () => string, named: () => string]>([
    [
      'a conversion of another amount',
      () =>
        `update transfer set amount = 881, posted_amount = 881 where kind = 'conversion' and payment_id = '${whole}'`,
      () => `of payment ${whole}: posted of 881, from`
    ],
    [
      'a conversion that vanished',
      () => `delete from transfer where kind = 'conversion' and payment_id = '${whole}'`,
      () => `payment ${whole} lacks its conversion of 882`
    ],
    [
      'a delivery that went to a wallet in place of the exchange account',
      () => `update transfer set credit_account_kind = 'wallet',
               credit_account_id = (select id from account where name = 'bob')
              where kind = 'delivery' and payment_id = '${whole}'`,
      () => `of payment ${whole}: posted of 980, from`
    ],
    [
      'a fee of another amount',
      () =>
        `update transfer set amount = 21, posted_amount = 21 where kind = 'fee' and payment_id = '${whole}'`,
      () => `of payment ${whole}: posted of 21, from`
    ],
    [
      'a fee that vanished',
      () => `delete from transfer where kind = 'fee' and payment_id = '${whole}'`,
      () => `payment ${whole} lacks its fee of 20`
    ],
    [
      'a fee that the payment does not know of',
      () => `update outgoing_payment set fee_value = 0 where id = '${whole}'`,
      () => `of 20 belongs to no payment that demands it (${whole})`
    ],
    [
      'another fee of a payment that sent nothing',
      () => `update outgoing_payment set fee_value = fee_value + 1, state = 'pending', settled_debit_value = 0, settled_receive_value = 0,
               failure_reason = null where id = '${part}'`,
      () =>
        `outgoing payment ${part}: its quote is none and its fee 21, and it was persisted with none and 20`
    ],
    [
      'another amount to receive',
      () => `update outgoing_payment set receive_value = 881 where id = '${part}'`,
      () => `its receive is here 881 EUR with scale 2, at the auth server 882 EUR with scale 2`
    ],
    [
      'another time of charge',
      () =>
        `update grant_reservation set charged_at = charged_at + interval '1 month' where payment_id = '${whole}'`,
      () => `payment ${whole}: its time of charge is here`
    ],
    [
      'no time of charge',
      () => `update grant_reservation set charged_at = null where payment_id = '${whole}'`,
      () => `payment ${whole}: its time of charge is here nothing`
    ],
    [
      'a part that cost less than its share',
      () => `update outgoing_payment set settled_debit_value = 113 where id = '${part}'`,
      () => `outgoing payment ${part}: sent 113 for 100 delivered, which cost 114`
    ],
    [
      'a part that says it delivered more',
      () => `update outgoing_payment set settled_receive_value = 110 where id = '${part}'`,
      () => `outgoing payment ${part}: sent 114 for 110 delivered, which cost 125`
    ],
    [
      'a part that kept the whole hold',
      () => `update transfer set posted_amount = 1000 where kind = 'payment' and payment_id = '${part}'`,
      () => `of payment ${part}: posted of 1000, from`
    ],
    [
      'a part whose fee was charged whole',
      () =>
        `update transfer set amount = 20, posted_amount = 20 where kind = 'fee' and payment_id = '${part}'`,
      () => `of payment ${part}: posted of 20, from`
    ],
    [
      'a part that is settled as a whole',
      () => `update grant_reservation set settled_debit_value = 1000 where payment_id = '${part}'`,
      () => `with 114 sent and 100 delivered; its entry says settle of 1000 and 100`
    ],
    [
      'another quote of the same terms',
      () => `update outgoing_payment set quote_id = '${otherQuote}' where id = '${quoted}'`,
      () => `outgoing payment ${quoted}: its quote is ${otherQuote} and its fee 11, and it was persisted with`
    ],
    [
      'a payment between currencies that was paid after its terms had ended',
      () =>
        `update outgoing_payment set begin_until = updated_at - interval '10 minutes' where id = '${whole}'`,
      () => `of payment ${whole} came at`
    ],
    [
      'a payment between currencies that was approved, and paid after its terms had ended',
      () => `update outgoing_payment set begin_until = updated_at where id = '${whole}';
             insert into payment_approval (payment_id, rule_id, requested_at, expires_at, decision, decided_at)
             select id, id, created_at, created_at + interval '1 second', 'approved', created_at from outgoing_payment where id = '${whole}'`,
      () => `of payment ${whole} came at`
    ],
    [
      'a quote that says other terms',
      () =>
        `update quote set debit_value = debit_value + 1 where id = (select quote_id from outgoing_payment where id = '${quoted}')`,
      () => `outgoing payment ${quoted}: it is not on the terms of its quote`
    ]
  ])('finds %s', async (_what, damage, named) => {
    const restore = await damageDatabase(world.database, damage())
    const violations = await world.audit().finally(restore)
    expect(violations.join('\n')).toContain(named())
    expect(await world.audit()).toEqual([])
  })
})
