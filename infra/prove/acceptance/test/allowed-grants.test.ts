import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import {
  actsOn,
  changeGrant,
  createdAmong,
  type HeldGrant,
  holdGrant,
  keptOf,
  lowerGrant,
  type Payers,
  refusalOf,
  startPayers
} from '../src/held-grants.js'
import { PATIENT, withPersistentClients } from '../src/patience.js'
import { amount, converged, eventually, pay } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

const ROUNDS = 20
const TIMEOUT_MS = 300_000
const VALUE = 10n
const INTERVAL_SECONDS = 3_600
const withRedis = process.env.TEST_REDIS_URL === undefined ? describe.skip : describe

describe('account holders and operators who act while payments are made, with one of each service', () => {
  itIsInForceAtOnce(1)
})
withRedis(
  'account holders and operators who act while payments are made, with two of each service, which need Redis (TEST_REDIS_URL)',
  () => {
    itIsInForceAtOnce(2)
  }
)

function itIsInForceAtOnce(instanceCount: number): void {
  let system: System
  beforeAll(async () => {
    const settings = { auth: { ACCESS_TOKEN_LIFETIME_SECONDS: '86400' }, resource: PATIENT }
    system = withPersistentClients(await startSystem({ instanceCount, ...settings }))
  })
  afterAll(() => system.stop())

  const inEachRound = async (round: (count: number) => Promise<void>): Promise<void> => {
    for (let count = 0; count < ROUNDS; count += 1) await round(count)
    expect(await system.audit()).toEqual([])
  }
  const anyGrant = (): Promise<HeldGrant> => holdGrant(system, { debitAmount: amount(1_000_000) })

  it(
    'let no payment be created after a stop was answered, and each before it is refused or complete',
    () =>
      inEachRound(async () => {
        const grant = await anyGrant()
        const payers = startPayers(system, grant, VALUE)
        await payers.whenCreated(5)
        await changeGrant(system, 'stopGrant', grant)
        expect(await statusesAfter(payers)).not.toContain(201)
        expect(payers.answers.filter(({ status }) => ![201, 401, 403].includes(status))).toEqual([])
        await hasExactly(grant, createdAmong(payers.answers))
        expect((await actsOn(system, grant)).map(({ kind }) => kind)).toEqual([
          auth.GrantActKind.GRANT_ACT_KIND_STOPPED
        ])
      }),
    TIMEOUT_MS
  )

  it(
    'let no payment be created during a pause, and payments go on after it',
    async () => {
      const grant = await anyGrant()
      let created = 0
      await inEachRound(async () => {
        const payers = startPayers(system, grant, VALUE)
        await payers.whenCreated(3)
        await changeGrant(system, 'pauseGrant', grant)
        expect(await statusesAfter(payers)).toEqual([403])
        expect(payers.answers.filter(({ status }) => ![201, 403].includes(status))).toEqual([])
        created += createdAmong(payers.answers)
        await hasExactly(grant, created)
        await changeGrant(system, 'resumeGrant', grant)
        // Each instance is told that it may go on; until it hears of it, it refuses.
        for (let each = 0; each < 2 * instanceCount; each += 1)
          await eventually('payments go on', async () => {
            const { status } = await pay(system, system.shop, grant.token, grant.receiver, VALUE)
            expect([201, 403]).toContain(status)
            created += status === 201 ? 1 : 0
            return status === 201
          })
      })
      await hasExactly(grant, created)
    },
    TIMEOUT_MS
  )

  it(
    'let an operator end a grant while its account holder lowers it: it has ended, and nothing is created',
    async () => {
      const lowered: boolean[] = []
      await inEachRound(async () => {
        const grant = await anyGrant()
        const payers = startPayers(system, grant, VALUE)
        await payers.whenCreated(5)
        const request = { grantId: grant.grantId }
        const [ended, refusal] = await Promise.all([
          refusalOf(callUnary(system.grantOperator, 'revokeGrant', request, { idempotent: true })),
          refusalOf(lowerGrant(system, grant, 500_000n))
        ])
        expect(ended).toBeUndefined()
        expect([undefined, 'FAILED_PRECONDITION grant_id']).toContain(refusal)
        lowered.push(refusal === undefined)
        expect(await statusesAfter(payers)).not.toContain(201)
        await hasExactly(grant, createdAmong(payers.answers))
        const acts = await actsOn(system, grant)
        expect(acts.map(({ kind }) => kind)).toEqual(
          refusal === undefined ? [auth.GrantActKind.GRANT_ACT_KIND_LOWERED] : []
        )
        expect(await refusalOf(lowerGrant(system, grant, 1n))).toBe('FAILED_PRECONDITION grant_id')
      })
      expect(lowered).toHaveLength(ROUNDS)
    },
    TIMEOUT_MS
  )

  it(
    'let a grant be lowered below what is spent: nothing more fits, and in the next interval what was left',
    () =>
      inEachRound(async () => {
        const interval = `R/${new Date(system.clock.now()).toISOString()}/PT${String(INTERVAL_SECONDS)}S`
        const grant = await holdGrant(system, { interval, debitAmount: amount(1_000_000) })
        const payers = startPayers(system, grant, VALUE)
        await payers.whenCreated(11)
        // 110 are spent at least. Two lower it at once, whichever comes first.
        const [toHundred, toThirty] = await Promise.all([
          refusalOf(lowerGrant(system, grant, 100n)),
          refusalOf(lowerGrant(system, grant, 30n))
        ])
        expect(toThirty).toBeUndefined()
        expect([undefined, 'INVALID_ARGUMENT limits[0].debit_amount.value']).toContain(toHundred)
        expect(await statusesAfter(payers)).toEqual([403])
        const created = createdAmong(payers.answers)
        await hasExactly(grant, created)
        expect(await system.audit()).toEqual([])

        system.clock.advanceSeconds(INTERVAL_SECONDS)
        const next = await Promise.all(
          Array.from({ length: 10 }, () => pay(system, system.shop, grant.token, grant.receiver, VALUE))
        )
        expect(createdAmong(next)).toBe(3)
        await hasExactly(grant, created + 3)
      }),
    TIMEOUT_MS
  )

  /** The statuses of the answers to what is sent from now on. */
  async function statusesAfter(payers: Payers): Promise<number[]> {
    payers.mark()
    const answers = await payers.stop()
    return [...new Set(answers.map(({ status }) => status))]
  }

  /** A grant has exactly so many payments, with all that belongs to each. */
  async function hasExactly(grant: HeldGrant, count: number): Promise<void> {
    await converged(system)
    const value = BigInt(count) * VALUE
    expect(await keptOf(system, grant)).toEqual({
      completed: count,
      unfinished: 0,
      sent: value,
      moved: value,
      spent: value
    })
  }
}
