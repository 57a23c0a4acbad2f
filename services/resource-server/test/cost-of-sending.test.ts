import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { readProgress } from '../src/modules/interledger/index.js'
import { openDatabase } from './support/open-database.js'
import { usd } from './support/payment-world.js'
import { type ReceivingPeer, startReceivingPeer } from './support/receiving-peer.js'
import { type SendingWorld, startSendingWorld } from './support/sending-world.js'

/** In whole dollars: a unit is worth a hundred of alice's. */
const COARSE = { code: 'USD', scale: 0 }
const dollars = (value: bigint) => ({ value: value.toString(), assetCode: 'USD', assetScale: 0 })

let world: SendingWorld
let way: ReceivingPeer
let name: string
beforeAll(async () => {
  world = await startSendingWorld({ settings: { FEES: 'USD=30+100' } })
  await world.operate('createAsset', { asset: COARSE })
  way = await startReceivingPeer(world.clock, 'test.coarse')
  const order = { endpoint: way.endpoint, ilpAddress: way.ilpAddress, asset: COARSE }
  ;({ name } = await world.peers.create(order))
})
afterAll(async () => {
  expect(await world.audit()).toEqual([])
  await way.stop()
  await world.stop()
})
beforeEach(() => {
  Object.assign(world.peer, { handle: undefined, packetLimitValue: undefined, rateThousandths: 1_000n })
  Object.assign(way, { handle: undefined, packetLimitValue: undefined, rateThousandths: 960n })
})

const idOf = (answer: Answer) => answer.textAt('id').slice(-36)
const owedToWay = async () => {
  const { peer } = await world.peers.operate('getPeer', { name })
  return BigInt(peer?.payableValue ?? '')
}
const packetsOf = (answer: Answer) =>
  world.database.query<Record<'send' | 'least' | 'delivered' | 'outcome', string>>(
    `select send_value::text as send, deliver_min_value::text as least, delivered_value::text as delivered, outcome
       from sent_packet where payment_id = $1 order by sequence`,
    [idOf(answer)]
  )

/** A quote for a receiver behind the way, which takes 4 %: 2093 dollars for 1999. */
async function quoteOverWay(): Promise<{ readonly quoted: Answer; readonly id: string }> {
  const id = world.ask()
  const receivedAmount = dollars(0n)
  world.provider.payment = {
    ...world.provider.payment,
    receivedAmount,
    methods: [way.methodOf(id, COARSE)]
  }
  const quoted = await world.quote({ receiveAmount: dollars(1_999n) })
  expect(quoted.at('debitAmount')).toEqual(usd(211_445))
  return { quoted, id }
}

/** Whether the packets of which nothing is known are all that a payment waits for. Nothing is known of it once it has ended. */
const isUndecided = async (created: Answer): Promise<boolean | undefined> => {
  const [row] = await world.database.query<{ due_at: Date | null }>(
    'select due_at from sending where payment_id = $1',
    [idOf(created)]
  )
  return row && row.due_at === null
}
/** Decides about the first packet of which nothing is known, once its payment waits for that. */
async function decide(created: Answer, arrived: boolean, arrivedValue = ''): Promise<void> {
  while ((await isUndecided(created)) === false) await delay(20)
  await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
  const [row] = await world.database.query<{ condition: Buffer }>(
    `select condition from sent_packet where payment_id = $1 and outcome = 'unknown' order by sequence limit 1`,
    [idOf(created)]
  )
  const condition = row?.condition.toString('base64url') ?? ''
  await world.peers.operate('decidePacket', { name, condition, arrived, arrivedValue })
}
/** Decides that nothing more has arrived, until the payment has ended. */
async function decideThatRestIsLost(created: Answer): Promise<Answer> {
  for (;;) {
    const isWaiting = await isUndecided(created)
    if (isWaiting === undefined) return world.whenEnded(created.textAt('id'))
    if (isWaiting) await decide(created, false)
    else await delay(20)
  }
}

describe('what a peer is owed', () => {
  it.each([
    ['takes only what asks for less than the terms want', 960n, '0', 0n],
    ['takes whatever comes, and says that less arrived', 1_000n, '242', 2n]
  ])(
    'is paid for by who pays, though it makes the first packet small, and %s',
    async (_what, rateThousandths, sent, owed) => {
      const { quoted, id } = await quoteOverWay()
      const before = { available: await world.available('alice'), owed: await owedToWay() }
      Object.assign(way, { packetLimitValue: 2n, rateThousandths })
      way.credit = () => ({ outcome: 'credited', value: 1n })
      way.handle = async ({ amount }, answer) => {
        if (amount > 2n) return answer()
        const reply = way.payment(id).isOver ? undefined : await answer()
        way.payment(id).isOver = true
        if (reply?.type === 'fulfill') return reply
        return { type: 'reject', code: 'F02', triggeredBy: '', message: '', data: Buffer.alloc(0) }
      }
      const created = await world.payQuote(quoted.textAt('id'))
      const ended = await world.whenEnded(created.textAt('id'))
      way.credit = undefined
      expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(Number(sent)) })
      expect((await owedToWay()) - before.owed).toBe(owed)
      const paid = before.available - (await world.available('alice'))
      expect(paid).toBe(BigInt(sent))
      expect(paid).toBeGreaterThanOrEqual(owed * 100n)
    }
  )

  it('is compared by the audit with what counts as delivered, also while a payment is under way', async () => {
    const { quoted } = await quoteOverWay()
    way.packetLimitValue = 1_000n
    let count = 0
    way.handle = async ({ amount }, answer, response) => {
      if (amount > 1_000n) return answer()
      count += 1
      if (count === 1) return answer()
      response.destroy()
      return undefined
    }
    const created = await world.payQuote(quoted.textAt('id'))
    while (!(await isUndecided(created))) await delay(20)
    const unknown = (await packetsOf(created)).filter(({ outcome }) => outcome === 'unknown')
    const shorts = unknown.map(({ send, least }) => BigInt(send) * 1_999n - BigInt(least) * 2_093n)
    const terms = { sendMaxValue: 2_093n, deliverValue: 1_999n }
    const progress = { paymentId: idOf(created), terms }
    expect(shorts).toContainEqual(8_557n)
    expect(await readProgress(openDatabase(world.server.pool), progress)).toMatchObject({
      sentValue: 1_000n,
      deliveredValue: 960n,
      unknownShortValue: shorts.reduce((total, short) => (short > 0n ? total + short : total), 0n)
    })
    const move = `update sent_packet set delivered_value = delivered_value + $2 where payment_id = $1 and outcome = 'fulfilled'`
    // What 1000 dollars are to deliver at least is 956.
    await world.database.query(move, [idOf(created), -5])
    const violations = await world.audit()
    await world.database.query(move, [idOf(created), 5])
    expect(violations).toEqual([
      expect.stringMatching(
        /^payment \S+: pending with 960 received; \d+ of 2093 .*, 955 of 1999 was delivered/
      )
    ])
    way.handle = undefined
    const ended = await decideThatRestIsLost(created)
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(211_445) })
  })

  it('is paid for to the unit where an operator says that a part of what may be lost had arrived', async () => {
    const { quoted, id } = await quoteOverWay()
    way.handle = (_prepare, _answer, response) => {
      response.destroy()
      return undefined
    }
    const created = await world.payQuote(quoted.textAt('id'))
    while (!(await isUndecided(created))) await delay(20)
    await world.database.query('update sent_packet set is_stand_in = true where payment_id = $1', [
      idOf(created)
    ])
    way.handle = undefined
    way.payment(id).isOver = true
    expect((await packetsOf(created))[0]).toMatchObject({ send: '2083', least: '1990' })
    await decide(created, true, '2')
    expect((await packetsOf(created))[0]).toMatchObject({ send: '2', delivered: '2' })
    const ended = await decideThatRestIsLost(created)
    expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(242) })
  })
})

describe('the fixed part of a fee', () => {
  it('is paid whole for a payment elsewhere whose receiver was filled by others meanwhile', async () => {
    const id = world.ask(50_000n)
    const quoted = await world.quote({ receiveAmount: usd(50_000) })
    expect(quoted.at('debitAmount')).toEqual(usd(50_536))
    const before = await world.available('alice')
    world.peer.payment(id).receivedValue = 49_000n
    world.provider.payment = { ...world.provider.payment, receivedAmount: usd(49_000) }
    const created = await world.payQuote(quoted.textAt('id'))
    const ended = await world.whenEnded(created.textAt('id'))
    expect(world.peer.payment(id).receivedValue).toBe(50_000n)
    // 10.00, 0.30, and 1 % of what both are together.
    expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(1_041) })
    expect(before - (await world.available('alice'))).toBe(1_041n)
    await world.whenDelivered()
    expect(world.limits.reservations.get(idOf(created))).toMatchObject({
      state: 'settled',
      debited: 1_041n,
      received: 1_000n
    })
  })

  it('is in what is shown of a payment from its first packet on, and never more than was agreed', async () => {
    world.ask(5_000n)
    world.peer.packetLimitValue = 4_999n
    let count = 0
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    world.peer.handle = async ({ amount }, answer) => {
      if (amount > 4_999n) return answer()
      count += 1
      if (count > 1) await released
      return answer()
    }
    const quoted = await world.quote({ receiveAmount: usd(5_000) })
    expect(quoted.at('debitAmount')).toEqual(usd(5_081))
    const created = await world.payQuote(quoted.textAt('id'))
    const shown = async () => {
      const [row] = await world.database.query<{ debit: string; receive: string }>(
        `select settled_debit_value::text as debit, settled_receive_value::text as receive from outgoing_payment
          where id = $1 and state = 'pending'`,
        [idOf(created)]
      )
      return row
    }
    while ((await shown())?.receive === '0') await delay(5)
    expect(await shown()).toEqual({ debit: '5080', receive: '4999' })
    release()
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(5_081) })
  })

  it('costs nothing where nothing was delivered', async () => {
    const id = world.ask(5_000n)
    const quoted = await world.quote()
    world.peer.payment(id).isOver = true
    const before = await world.available('alice')
    const created = await world.payQuote(quoted.textAt('id'))
    const ended = await world.whenEnded(created.textAt('id'))
    expect(ended.body).toMatchObject({ failed: true, sentAmount: usd(0) })
    expect(await world.available('alice')).toBe(before)
  })

  it.each([
    [
      'a payment with another fixed part than its quote has',
      'update outgoing_payment set fixed_fee_value = fixed_fee_value + $2 where id = $1',
      /^outgoing payment \S+: .*it is not on the terms of its quote/
    ],
    [
      'a partial payment that lacks a unit of it',
      'update outgoing_payment set settled_debit_value = settled_debit_value + $2 where id = $1',
      /^outgoing payment \S+: sent 1040 for 1000 delivered, which cost 1041/
    ]
  ])('is compared by the audit: it finds %s', async (_what, spoil, found) => {
    const id = world.ask(50_000n)
    const quoted = await world.quote({ receiveAmount: usd(50_000) })
    world.peer.payment(id).receivedValue = 49_000n
    const created = await world.payQuote(quoted.textAt('id'))
    await world.whenEnded(created.textAt('id'))
    await world.whenDelivered()
    await world.database.query(spoil, [idOf(created), -1])
    const violations = await world.audit()
    await world.database.query(spoil, [idOf(created), 1])
    expect(violations).toContainEqual(expect.stringMatching(found))
    expect(await world.audit()).toEqual([])
  })

  it('is part of the fee, so the database refuses another', async () => {
    const [payment] = await world.database.query<{ id: string }>('select id from outgoing_payment limit 1')
    await expect(
      world.database.query('update outgoing_payment set fixed_fee_value = fee_value + 1 where id = $1', [
        payment?.id ?? randomUUID()
      ])
    ).rejects.toThrow('outgoing_payment_fixed_fee_is_part_of_fee')
  })
})
