import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { watchLimits } from '../src/limit-watcher.js'
import { PaymentMix } from '../src/payment-mix.js'
import { allSettled, amount, createReceiver, eventually, pay } from '../src/payments.js'
import { PATIENT, withPersistentClients } from '../src/patience.js'
import { deposit, itLetsNobodyWinTwice, spentUnder } from '../src/races.js'
import { startSystem, type System } from '../src/system.js'

const withRedis = process.env.TEST_REDIS_URL === undefined ? describe.skip : describe

withRedis(
  'across two instances of each service, which need Redis (TEST_REDIS_URL), requests that race',
  () => {
    let system: System
    beforeAll(async () => {
      system = withPersistentClients(await startSystem({ instanceCount: 2, resource: PATIENT }))
    })
    afterAll(() => system.stop())

    itLetsNobodyWinTwice(() => system, {
      payments: 600,
      room: 100,
      quotePayments: 100,
      receiverPayments: 120,
      receiverRoom: 10_000n,
      continuations: 40,
      rotations: 50,
      repetitions: 80,
      halfBalancePayments: 60
    })
  }
)

/** Duration of the mix, all intervals together. */
const MIX_SECONDS = Number(process.env.MIX_TEST_SECONDS ?? 30)
const INTERVAL_COUNT = 4
const INTERVAL_SECONDS = 3_600

withRedis('across two instances of each service, which need Redis (TEST_REDIS_URL), one grant', () => {
  let system: System
  let token: string
  let mix: PaymentMix
  beforeAll(async () => {
    const started = await startSystem({
      instanceCount: 2,
      auth: { ACCESS_TOKEN_LIFETIME_SECONDS: '86400' },
      resource: { ...PATIENT, SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '3' }
    })
    system = withPersistentClients(started)
    const interval = `R/${new Date(system.clock.now()).toISOString()}/PT${String(INTERVAL_SECONDS)}S`
    const limit = amount(PaymentMix.LIMIT)
    const access = [outgoingAccess(system, { interval, debitAmount: limit, receiveAmount: limit })]
    token = (await consentedToken(system, system.shop, access)).token
    mix = await PaymentMix.prepare(system, { token, intervalSeconds: INTERVAL_SECONDS })
  })
  afterAll(async () => {
    await mix.close()
    await system.stop()
  })

  it(
    `is never above its limit while payments are created, fail, send a part and are released for ${MIX_SECONDS} s, and has exactly the room left that they left`,
    async () => {
      const watch = watchLimits(system.authDatabase)
      try {
        for (let interval = 1; interval < INTERVAL_COUNT; interval += 1) {
          await mix.fillInterval(MIX_SECONDS / INTERVAL_COUNT)
        }
        await mix.fillLastInterval(MIX_SECONDS / INTERVAL_COUNT)
        await allSettled(system)
        const isSwept = async () => !(await hasOpenReservation())
        await eventually('every reservation that was left alone is swept', isSwept)
      } finally {
        await watch.stop()
      }
      expect(watch.violations).toEqual([])
      expect(watch.lookCount).toBeGreaterThan(MIX_SECONDS)
      expect(watch.debitedMax).toBeGreaterThan(PaymentMix.LIMIT / 2n)
      for (const { accepted, refused } of mix.answers) {
        expect(accepted).toBeGreaterThan(0)
        expect(refused).toBeGreaterThan(0)
      }
      expect((await endings()).sort()).toEqual([
        'completed',
        'insufficient_funds',
        'partially_delivered',
        'receiver_completed',
        'receiver_expired'
      ])
      expect(await releasedWithoutPayment(mix.orphanIds)).toBe(mix.orphanIds.length)
      const spending = await mix.spending()
      expect(await windows()).toEqual(spending)
      const spent = spending.at(-1)?.debited ?? 0n
      expect(await spentUnder(system, token)).toBe(spent)
      await takesExactly(PaymentMix.LIMIT - spent)
      await auditNamesOnlyWhatHasNoPayment()
    },
    MIX_SECONDS * 1_000 + 120_000
  )

  /** One unit more than the room is refused, exactly the room is accepted, and then nothing is left. */
  async function takesExactly(room: bigint): Promise<void> {
    await deposit(system, 'alice', room)
    const receiver = await createReceiver(system, system.shop)
    const paying = (debit: bigint) => pay(system, system.shop, token, receiver.url, debit)
    const refused = { status: 403, body: { error: { description: 'unauthorized' } } }
    expect(await paying(room + 1n)).toMatchObject(refused)
    expect(await paying(room)).toMatchObject({ status: 201 })
    expect(await paying(1n)).toMatchObject(refused)
    await allSettled(system)
    expect(await paying(1n)).toMatchObject(refused)
    expect(await spentUnder(system, token)).toBe(PaymentMix.LIMIT)
  }

  /** The test settled and released some reservations directly at the auth server: the audit must name each. */
  async function auditNamesOnlyWhatHasNoPayment(): Promise<void> {
    const violations = await system.audit()
    const named = violations.map(
      (violation) => /payment (\S+): here nothing/.exec(violation)?.[1] ?? violation
    )
    expect(named.sort()).toEqual([...mix.directIds].sort())
  }

  async function hasOpenReservation(): Promise<boolean> {
    const open = await system.authDatabase.query(`select 1 from reservation where state = 'open' limit 1`)
    return open.length > 0
  }

  async function endings(): Promise<string[]> {
    const rows = await system.resourceDatabase.query<{ ending: string }>(
      'select distinct coalesce(failure_reason::text, state::text) as ending from outgoing_payment'
    )
    return rows.map(({ ending }) => ending)
  }

  async function releasedWithoutPayment(ids: readonly string[]): Promise<number> {
    const released = await system.authDatabase.query(
      `select 1 from reservation where payment_id = any($1::uuid[]) and state = 'released'`,
      [ids]
    )
    return released.length
  }

  async function windows(): Promise<object[]> {
    const rows = await system.authDatabase.query<{ debited: string; received: string }>(
      'select spent_debit_value as debited, spent_receive_value as received from limit_window order by interval_index'
    )
    return rows.map(({ debited, received }) => ({ debited: BigInt(debited), received: BigInt(received) }))
  }
})
