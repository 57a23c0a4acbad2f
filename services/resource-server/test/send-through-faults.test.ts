import { setTimeout as delay } from 'node:timers/promises'
import type { Answer } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { BreakableWay } from './support/breakable-way.js'
import { disturb, type Disturbance, type Disturbed } from './support/failing-statements.js'
import { usd } from './support/payment-world.js'
import { type SendingWorld, startSendingWorld, TICK_MS } from './support/sending-world.js'

/** How long the database is away: connections are tried again more than once. */
const AWAY_MS = 4_000
const PACKET_VALUE = 100n
const PAYMENTS = 12

let world: SendingWorld
let way: BreakableWay
let disturbed: Disturbed | undefined
let receiver: string

beforeAll(async () => {
  world = await startSendingWorld({
    async detour(url) {
      way = await BreakableWay.open(url)
      return way.url
    }
  })
})
beforeEach(() => {
  receiver = world.ask()
  world.peer.packetLimitValue = PACKET_VALUE
  world.peer.handle = undefined
})
afterEach(() => {
  disturbed?.stop()
})
afterAll(async () => {
  expect(await world.audit()).toEqual([])
  await world.stop()
  way.close()
})

/** Begins to pay so much. */
async function begin(value: number): Promise<Answer> {
  const quoted = await world.quote({ debitAmount: usd(value) })
  const created = await world.payQuote(quoted.textAt('id'))
  expect(created.status).toBe(201)
  return created
}
const unknown = async (): Promise<number> =>
  (await world.database.query(`select 1 from sent_packet where outcome = 'unknown'`)).length
const owedSince = async (before: bigint): Promise<bigint> => (await world.owed()) - before

/** The statement that writes down what became of packets, and those that are to be sent. */
const WRITING = /^\/\* write-packets \*\//

describe('packets of which the answers came', () => {
  it.each<[string, Disturbance['moment'], number]>([
    ['is not reached', 'before', 2],
    ['still works when its connection is lost', 'during', 1],
    ['is done when its connection is lost', 'after', 1],
    ['is done each time when its connection is lost, three times in a row', 'after', 3]
  ])('are all known if the database %s', async (_what, moment, times) => {
    const owedBefore = await world.owed()
    let left = 3
    world.peer.handle = async (_prepare, answer) => {
      const reply = await answer()
      left -= 1
      // With the next ones nothing is certain.
      if (left === 0) disturbed = disturb(world.server.pool, { statements: WRITING, moment, times })
      return reply
    }
    const created = await begin(1_000)
    const ended = await world.whenEnded(created.textAt('id'))
    expect(disturbed?.count).toBe(times)
    expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(1_000) })
    expect([
      await unknown(),
      await owedSince(owedBefore),
      world.peer.payment(receiver).receivedValue
    ]).toEqual([0, 1_000n, 1_000n])
  })

  it('are all known if the database is away for some seconds while many payments are sent', async () => {
    const owedBefore = await world.owed()
    let fulfilled = 0
    world.peer.handle = async (_prepare, answer) => {
      const reply = await answer()
      fulfilled += 1
      // So that packets of each are under way then.
      await delay(50)
      return reply
    }
    const created = await Promise.all(Array.from({ length: PAYMENTS }, () => begin(5_000)))
    while (fulfilled < PAYMENTS * 3) await delay(TICK_MS)
    way.break()
    const fulfilledBefore = fulfilled
    await delay(AWAY_MS)
    // What was under way arrived, and nothing else was sent: that could not be written down.
    expect(fulfilled - fulfilledBefore).toBeLessThanOrEqual(PAYMENTS * 20)
    way.mend()
    for (const payment of created) {
      const ended = await world.whenEnded(payment.textAt('id'))
      expect(ended.body).toMatchObject({ failed: false, sentAmount: usd(5_000) })
    }
    const total = BigInt(PAYMENTS) * 5_000n
    expect([
      await unknown(),
      await owedSince(owedBefore),
      world.peer.payment(receiver).receivedValue
    ]).toEqual([0, total, total])
  })
})
