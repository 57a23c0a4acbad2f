import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  consentedToken,
  converged,
  createReceiver,
  outgoingAccess,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { seedOf } from '@open-payments-server/testing'
import { HttpProxy } from '../src/http-proxy.js'
import { PaymentLoad } from '../src/payment-load.js'
import { WebhookWitness } from '../src/webhook-witness.js'

const PAYERS = 8
const PAYMENTS_AT_LEAST = 40
/** How time passes: while messages are disturbed much faster, so that they are tried again. */
const PASSING = { everyMs: 200, seconds: 0.2, secondsWhileDisturbed: 5 }
/** Most that may pass: older messages could not be verified, which compares with the real time. */
const PASSING_SECONDS_MAX = 240
const DISTURBED_MS_MAX = 30_000
const TOLD_WITHIN_MS = 30_000
const TIME_LIMIT_MS = 300_000

const seed = seedOf('WIRE_TEST_SEED')

describe('between the services and a webhook endpoint, a wire that cuts, resets, stalls, delays and corrupts', () => {
  let system: System
  let proxy: HttpProxy
  let witness: WebhookWitness
  let passing: NodeJS.Timeout | undefined
  beforeAll(async () => {
    system = await startSystem()
    witness = await WebhookWitness.start(system, async (target) => {
      proxy = await HttpProxy.start({
        target,
        seed,
        kinds: ['cut', 'reset', 'stalled', 'delayed', 'corrupted'],
        share: 0.3,
        delayMs: [5, 150],
        stallMs: [200, 700]
      })
      return proxy.port
    })
  })
  afterAll(async () => {
    clearInterval(passing)
    await system.stop()
    await proxy.stop()
    await witness.stop()
  })

  it(
    'loses no event, keeps the order of each subject, and leaves nothing to be told',
    async () => {
      const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
      const load = new PaymentLoad(system, system.shop)
      let isEnding = false
      const payer = async (): Promise<void> => {
        while (!isEnding || load.payments.length < PAYMENTS_AT_LEAST) {
          const { url: receiver } = await createReceiver(system, system.shop, { incoming: 60n })
          await load.send(load.order({ token, receiver, debit: 30n }))
          await load.send(load.order({ token, receiver, debit: 30n }))
        }
      }
      const startedMs = system.clock.now()
      passing = setInterval(() => {
        const isEarly = system.clock.now() - startedMs < PASSING_SECONDS_MAX * 1_000
        system.clock.advanceSeconds(!isEnding && isEarly ? PASSING.secondsWhileDisturbed : PASSING.seconds)
      }, PASSING.everyMs)
      const hadEveryFault = (): boolean => Object.values(proxy.counts).every((count) => count > 0)

      proxy.disturb()
      const startedAtMs = performance.now()
      const running = Promise.all(Array.from({ length: PAYERS }, payer))
      while (!hadEveryFault() && performance.now() - startedAtMs < DISTURBED_MS_MAX) await delay(50)
      isEnding = true
      await running
      await converged(system)
      proxy.heal()
      // What fails while it is replayed is tried again after 5 seconds.
      await witness.replay()
      const corrupted = proxy.counts['corrupted in the request'] ?? 0
      expect(await witness.differences(TOLD_WITHIN_MS, corrupted)).toEqual([])
      await witness.whenNothingIsDue(TOLD_WITHIN_MS)
      console.log({
        faults: proxy.counts,
        told: witness.counts,
        payments: load.payments.length,
        elapsedMs: Math.round(performance.now() - startedAtMs)
      })
      expect(hadEveryFault()).toBe(true)
      expect(witness.counts.takenAgain).toBeGreaterThan(0)
      expect(load.confirmed).toHaveLength(load.payments.length)
      expect(await system.audit()).toEqual([])
    },
    TIME_LIMIT_MS
  )
})
