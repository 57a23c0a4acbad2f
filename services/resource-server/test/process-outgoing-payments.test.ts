import { randomUUID } from 'node:crypto'
import { wallet } from '@open-payments-server/proto'
import { type Answer, whenLocked } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  ALICE,
  BOB,
  CAROL,
  eur,
  PUBLIC_URL,
  type PaymentWorld,
  startPaymentWorld,
  usd
} from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1', FEES: 'USD=10+100' }
  })
})
afterEach(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

/** The transfers of a payment: kind, state, amount, from, to. */
async function transfersOf(payment: Answer): Promise<string[]> {
  const rows = await world.database.query<{ line: string }>(
    `select format('%s %s %s %s %s > %s', t.kind, t.state, coalesce(t.posted_amount, t.amount), s.code,
                   coalesce(d.name, d.kind::text), coalesce(c.name, c.kind::text)) as line
       from transfer t join account d on d.id = t.debit_account_id join account c on c.id = t.credit_account_id
       join asset s on s.id = t.asset_id
      where t.payment_id = $1 order by t.kind`,
    [payment.textAt('id').slice(-36)]
  )
  return rows.map(({ line }) => line)
}

/** Creates a payment, and changes the receiver before the payment is processed. */
async function payBeforeChange(receiver: string, value: number, change: string): Promise<Answer> {
  const client = await world.server.pool.connect()
  try {
    // Creation reads the receiver as it was; processing waits for the row.
    await client.query('begin')
    await client.query(`update incoming_payment set ${change} where id = $1`, [receiver.slice(-36)])
    const created = await world.pay(receiver, value)
    expect(created).toMatchObject({ status: 201 })
    await client.query('commit')
    return created
  } finally {
    client.release()
  }
}

const read = (url: string): Promise<Answer> => world.request('GET', url.slice(PUBLIC_URL.length))
const ended = (created: Answer): Promise<Answer> => world.whenEnded(created.textAt('id'))
/** The failure reason that operators see. */
const toldOf = async (created: Answer): Promise<string> => {
  const { payments } = await world.operate(
    'listPayments',
    wallet.ListPaymentsRequest.fromPartial({
      kind: wallet.PaymentKind.PAYMENT_KIND_OUTGOING,
      walletAddress: '',
      pageSize: 0,
      pageToken: ''
    })
  )
  const payment = payments.find(({ paymentId }) => created.textAt('id').endsWith(paymentId))
  return `${String(payment?.failureReason)}: ${String(payment?.failureMeaning)}`
}

describe('a payment in one asset', () => {
  it('moves the debit: the fee to the provider, the rest to the receiver', async () => {
    const receiver = await world.createReceiver()
    const spent = world.limits.spent(world.token)
    const created = await world.pay(receiver, 1000)
    expect(created.body).toMatchObject({ debitAmount: usd(1000), receiveAmount: usd(980) })
    expect((await ended(created)).body).toMatchObject({ failed: false, sentAmount: usd(1000) })
    expect(await transfersOf(created)).toEqual([
      'payment posted 1000 USD alice > clearing',
      'fee posted 20 USD clearing > fees',
      'delivery posted 980 USD clearing > bob'
    ])
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(980), completed: false })
    await world.whenDelivered()
    expect(world.limits.spent(world.token)).toEqual({
      debited: spent.debited + 1000n,
      received: spent.received + 980n
    })
  })

  it('completes the receiver when it is full', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(980) })
    await ended(await world.pay(receiver, 1000))
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(980), completed: true })
  })

  it('to oneself changes nothing but the fee', async () => {
    const before = await world.available('alice')
    const receiver = await world.createReceiver({ walletAddress: ALICE })
    expect((await ended(await world.pay(receiver, 1000))).at('failed')).toBe(false)
    expect(await world.available('alice')).toBe(before - 20n)
  })
})

describe('a payment between assets', () => {
  it('passes through the exchange accounts, so that each asset adds up by itself', async () => {
    const receiver = await world.createReceiver({ walletAddress: CAROL })
    const before = await world.available('carol')
    const created = await world.pay(receiver, 1000)
    expect(created.body).toMatchObject({ debitAmount: usd(1000), receiveAmount: eur(882) })
    expect((await ended(created)).body).toMatchObject({ failed: false, sentAmount: usd(1000) })
    expect(await transfersOf(created)).toEqual([
      'payment posted 1000 USD alice > clearing',
      'fee posted 20 USD clearing > fees',
      'delivery posted 980 USD clearing > exchange',
      'conversion posted 882 EUR exchange > carol'
    ])
    expect(await world.available('carol')).toBe(before + 882n)
  })
})

describe('a payment that the receiver can no longer take in full', () => {
  it('delivers what fits, debits its share, and fails: the rest is given back to sender and grant', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(980) })
    const before = await world.available('alice')
    const spent = world.limits.spent(world.token)
    const created = await payBeforeChange(receiver, 1000, 'incoming_value = 490')
    expect((await ended(created)).body).toMatchObject({
      failed: true,
      debitAmount: usd(1000),
      sentAmount: usd(500)
    })
    expect(await transfersOf(created)).toEqual([
      'payment posted 500 USD alice > clearing',
      'fee posted 10 USD clearing > fees',
      'delivery posted 490 USD clearing > bob'
    ])
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(490), completed: true })
    expect(await world.available('alice')).toBe(before - 500n)
    await world.whenDelivered()
    expect(world.limits.spent(world.token)).toEqual({
      debited: spent.debited + 500n,
      received: spent.received + 490n
    })
    expect(await toldOf(created)).toBe(
      'partially_delivered: The incoming payment had room for a part, which was delivered.'
    )
  })

  it('between assets debits what covers the part', async () => {
    const receiver = await world.createReceiver({ walletAddress: CAROL, incomingAmount: eur(882) })
    const created = await payBeforeChange(receiver, 1000, 'incoming_value = 100')
    expect((await ended(created)).body).toMatchObject({ failed: true, sentAmount: usd(114) })
    expect(await transfersOf(created)).toEqual([
      'payment posted 114 USD alice > clearing',
      'fee posted 2 USD clearing > fees',
      'delivery posted 112 USD clearing > exchange',
      'conversion posted 100 EUR exchange > carol'
    ])
  })

  it.each([
    ['completed', 'completed = true', 'receiver_completed: The incoming payment was completed first.'],
    ['expired', "expires_at = '2020-01-01'", 'receiver_expired: The incoming payment expired first.']
  ])('because it is %s, sends nothing and gives all back', async (_what, change, reason) => {
    const receiver = await world.createReceiver({ incomingAmount: usd(980) })
    const before = await world.available('alice')
    const spent = world.limits.spent(world.token)
    const created = await payBeforeChange(receiver, 1000, change)
    expect((await ended(created)).body).toMatchObject({ failed: true, sentAmount: usd(0) })
    expect(await transfersOf(created)).toEqual(['payment voided 1000 USD alice > clearing'])
    expect(await world.available('alice')).toBe(before)
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(0))
    await world.whenDelivered()
    expect(world.limits.spent(world.token)).toEqual(spent)
    expect(await toldOf(created)).toBe(reason)
  })
})

describe('the reason for a failure', () => {
  it('is told in the full representation, and never in the published one', async () => {
    const receiver = await world.createReceiver()
    const available = await world.available('alice')
    const failed = await world.pay(receiver, available + 1n)
    const completed = await world.pay(receiver, 100)
    const told = await ended(failed)
    expect(told.at('failureReason')).toBe('insufficient_funds')
    expect(told.text).not.toContain(`"${String(available)}"`)
    expect((await ended(completed)).body).not.toHaveProperty('failureReason')

    const path = failed.textAt('id').slice(PUBLIC_URL.length)
    const list = `/outgoing-payments?wallet-address=${encodeURIComponent(ALICE)}`
    const { result } = (await world.request('GET', list)).body as { result: { id: string }[] }
    const listed = result.find(({ id }) => id === failed.textAt('id'))
    expect(listed).toHaveProperty('failureReason', 'insufficient_funds')
    expect(result.find(({ id }) => id === completed.textAt('id'))).not.toHaveProperty('failureReason')
    for (const read of [path, list]) {
      const published = await world.request('GET', read, { headers: { accept: 'application/json' } })
      expect(published.status).toBe(200)
      expect(published.text).not.toContain('failureReason')
    }
  })
})

describe('a payment that the sender cannot afford', () => {
  it('is created, fails with nothing sent, and is given back to the grant', async () => {
    const receiver = await world.createReceiver()
    const before = await world.available('alice')
    const spent = world.limits.spent(world.token)
    const created = await world.pay(receiver, before + 1n)
    expect(created).toMatchObject({ status: 201 })
    expect((await ended(created)).body).toMatchObject({ failed: true, sentAmount: usd(0) })
    expect(await transfersOf(created)).toEqual([])
    expect(await toldOf(created)).toBe(
      "insufficient_funds: The sender's account did not have the debit amount."
    )
    await world.whenDelivered()
    expect(world.limits.spent(world.token)).toEqual(spent)
  })

  it('cannot spend what another payment holds, nor can a withdrawal', async () => {
    const receiver = await world.createReceiver()
    const available = await world.available('bob')
    const payment = { walletAddress: BOB, debitAmount: usd(available) }
    const client = await world.server.pool.connect()
    try {
      await client.query('begin')
      await client.query('select 1 from incoming_payment where id = $1 for update', [receiver.slice(-36)])
      const first = await world.pay(receiver, 0, payment)
      const { accounts } = await world.operate('listAccounts', { name: 'bob', pageSize: 0, pageToken: '' })
      expect(accounts[0]).toMatchObject({
        balanceValue: available.toString(),
        heldValue: available.toString(),
        availableValue: '0'
      })
      const withdrawalId = '0190a5f0-0000-7000-8000-0000000000aa'
      await expect(
        world.operate('withdraw', { withdrawalId, accountName: 'bob', value: '1' })
      ).rejects.toMatchObject({ code: 9, field: 'value' })
      const other = await world.createReceiver({ walletAddress: CAROL })
      const second = await world.pay(other, 0, { ...payment, debitAmount: usd(100) })
      await client.query('rollback')
      expect((await ended(first)).at('failed')).toBe(false)
      expect((await ended(second)).at('failed')).toBe(true)
    } finally {
      client.release()
    }
  })

  it('is not covered by money that arrives while it waits', async () => {
    const receiver = await world.createReceiver()
    const available = await world.available('alice')
    const { paying } = await world.database.inTransaction(async (query) => {
      await query(`select from account where name = 'alice' for no key update`)
      const deposit = world.operate('deposit', {
        depositId: randomUUID(),
        accountName: 'alice',
        value: '100'
      })
      await whenLocked(world.database.query)
      const created = world.pay(receiver, available + 1n)
      await whenLocked(world.database.query, 2)
      return { paying: Promise.all([created, deposit]) }
    })
    const [created] = await paying
    expect((await ended(created)).at('failed')).toBe(true)
    expect(await toldOf(created)).toMatch(/^insufficient_funds/)
    expect(await world.available('alice')).toBe(available + 100n)
  })

  it('can spend the last unit of the account', async () => {
    const receiver = await world.createReceiver({ walletAddress: CAROL })
    const available = await world.available('alice')
    const created = await world.pay(receiver, available)
    expect((await ended(created)).at('failed')).toBe(false)
    expect(await world.available('alice')).toBe(0n)
    await world.operate('deposit', {
      depositId: '0190a5f0-0000-7000-8000-0000000000ab',
      accountName: 'alice',
      value: '1000000'
    })
  })
})

describe('a payment that cannot be settled', () => {
  it('keeps none of the others from being settled, and stays pending until it can be', async () => {
    const [broken, healthy] = [await world.createReceiver(), await world.createReceiver()]
    const client = await world.server.pool.connect()
    try {
      await client.query('begin')
      await client.query('select 1 from incoming_payment where id = any($1) for update', [
        [broken, healthy].map((url) => url.slice(-36))
      ])
      const first = await world.pay(broken, 500)
      const others = [await world.pay(healthy, 500), await world.pay(healthy, 600)]
      // As if its entry among the outcomes had been deleted: it must not be settled in part.
      const id = first.textAt('id').slice(-36)
      await world.database.query(`update grant_reservation set outcome = 'release' where payment_id = $1`, [
        id
      ])
      await client.query('rollback')
      for (const other of others) expect((await ended(other)).at('failed')).toBe(false)
      expect((await read(first.textAt('id'))).body).toMatchObject({ failed: false, sentAmount: usd(0) })
      expect((await read(broken)).at('receivedAmount')).toEqual(usd(0))
      expect((await world.audit()).join()).toContain(id)

      await world.database.query(
        `update grant_reservation set outcome = null, delivered_at = null where payment_id = $1`,
        [id]
      )
      world.limits.reservations.get(id)!.state = 'open'
      world.limits.reservations.get(id)!.debited = 500n
      expect((await ended(first)).body).toMatchObject({ failed: false, sentAmount: usd(500) })
    } finally {
      client.release()
    }
  })
})
