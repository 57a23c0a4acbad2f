import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { consentedToken, converged, createReceiver, outgoingAccess } from '@open-payments-server/acceptance'
import { randomSequence, seedOf, wholeNumber } from '@open-payments-server/testing'
import { balances, keepDeciding, wrongs } from '../src/crossing-loads.js'
import { type CrossingSystem, startCrossingSystem } from '../src/crossing-system.js'
import { HttpProxy } from '../src/http-proxy.js'
import { type Order, PaymentLoad } from '../src/payment-load.js'

const PAYMENTS = 120
const PAYERS = 8
/** Packets of which nothing is known must expire before they are decided, and payments go on after that. */
const CONVERGED_WITHIN_MS = 180_000
const TIME_LIMIT_MS = 600_000

const seed = seedOf('WIRE_TEST_SEED')

describe('between two providers, a wire that cuts, resets, stalls, delays and doubles', () => {
  let system: CrossingSystem
  let proxy: HttpProxy
  beforeAll(async () => {
    system = await startCrossingSystem(async (target) => {
      // Not corrupted: TLS would show that, and a packet's amount is bound to nothing else.
      proxy = await HttpProxy.start({
        target,
        seed,
        share: 0.2,
        delayMs: [5, 500],
        stallMs: [200, 1_000],
        kinds: ['cut', 'reset', 'stalled', 'delayed', 'doubled']
      })
      return proxy.port
    })
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    await system.stop()
    await proxy.stop()
  })

  it(
    `loses no money of ${String(PAYMENTS)} payments, and leaves both providers of one mind`,
    async () => {
      const { sender } = system
      const random = randomSequence(seed)
      const { token } = await consentedToken(sender, sender.shop, [outgoingAccess(sender)])
      const loads = {
        inDollars: new PaymentLoad(sender, sender.shop, 'in dollars'),
        inEuros: new PaymentLoad(sender, sender.shop, 'in euros'),
        token
      }
      const orders = await prepareOrders(system, token)
      const before = await balances(system)
      const endDecisions = await keepDeciding(system)

      proxy.disturb()
      const payer = async (): Promise<void> => {
        for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
          const load = order.wallet === 'bob' ? loads.inDollars : loads.inEuros
          const payment = load.order({ ...order, debit: BigInt(wholeNumber(random, 30, 150)) })
          // Without an answer of the receiver the payment cannot be priced.
          for (let times = 0; times < 5 && payment.answers.at(-1)?.status !== 201; times += 1)
            await load.send(payment)
        }
      }
      await Promise.all(Array.from({ length: PAYERS }, payer))
      proxy.heal()
      await converged(sender, CONVERGED_WITHIN_MS)
      const decided = await endDecisions()
      console.log({ faults: proxy.counts, decided, answers: loads.inDollars.statuses })

      expect(await wrongs(system, { loads, before, decided })).toEqual([])
      for (const count of Object.values(proxy.counts)) expect(count).toBeGreaterThan(0)
      expect(decided.arrived).toBeGreaterThan(0)
      expect(decided.lost).toBeGreaterThan(0)
      expect(loads.inDollars.confirmed.length + loads.inEuros.confirmed.length).toBeGreaterThan(
        PAYMENTS * 0.8
      )
    },
    TIME_LIMIT_MS
  )
})

/** Where payments go: most to receivers that take any amount, others to some that several payments fill. */
async function prepareOrders(
  { receiver }: CrossingSystem,
  token: string
): Promise<(Omit<Order, 'debit'> & { wallet: 'bob' | 'carol' })[]> {
  const open = await createReceiver(receiver, receiver.shop)
  const small = await createReceiver(receiver, receiver.shop, { incoming: 400n })
  const euros = await createReceiver(receiver, receiver.shop, { wallet: 'carol' })
  return Array.from({ length: PAYMENTS }, (_, count) => {
    if (count % 4 === 0) return { token, receiver: euros.url, wallet: 'carol' }
    return { token, receiver: count % 10 === 0 ? small.url : open.url, wallet: 'bob' }
  })
}
