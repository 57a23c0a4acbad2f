import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { auth as contract } from '@open-payments-server/proto'
import fc from 'fast-check'
import {
  ALICE,
  eur,
  GrpcFixture,
  type PaymentOptions,
  RECEIVER,
  release,
  spending,
  usd,
  type WrittenGrant
} from './support/grpc-fixture.js'

// Every call captures a stack trace in case it fails, and mapping these to sources would take most of the time.
Error.stackTraceLimit = 0

let alone: GrpcFixture
let together: GrpcFixture

beforeAll(async () => {
  ;[alone, together] = await Promise.all([GrpcFixture.start(), GrpcFixture.start()])
})
afterAll(() => Promise.all([alone.stop(), together.stop()]))

const GRANTS = [
  [spending({ debitAmount: usd(500n) })],
  [spending({ debitAmount: usd(800n), receiveAmount: usd(450n) })],
  [spending({ interval: 'R/2026-01-01T00:00:00Z/PT1H', receiveAmount: usd(300n) })],
  [spending({})],
  [
    spending({ debitAmount: usd(300n) }),
    spending({ debitAmount: usd(400n) }),
    spending({ receiver: `${RECEIVER}0` })
  ],
  [spending({ debitAmount: usd(500n) }, `${ALICE}/other`)],
  []
]
/** Indexes in `GRANTS`, and one more for a token that was not issued here. */
const GRANT_PLACES = fc.nat(GRANTS.length)
const PAYMENT_COUNT = 24

/** A reservation: its payment and grant. */
interface Reserve {
  readonly payment: number
  readonly grant: number
  readonly options: PaymentOptions
  readonly malformed: boolean
}

/** The end of a reservation. */
interface End {
  readonly payment: number
  /** undefined to release it. */
  readonly spent: readonly [debited: string, received: string] | undefined
}

const payments = fc.nat(PAYMENT_COUNT - 1)
const amounts = fc.oneof(fc.constant(100n), fc.bigInt(0n, 260n))

const reserve: fc.Arbitrary<Reserve> = fc.record({
  payment: payments,
  grant: GRANT_PLACES,
  options: fc.record({
    debit: fc.oneof({ weight: 9, arbitrary: amounts.map(usd) }, { weight: 1, arbitrary: amounts.map(eur) }),
    receive: fc.oneof({ weight: 9, arbitrary: amounts.map(usd) }, { weight: 1, arbitrary: amounts.map(eur) }),
    receiver: fc.constantFrom(RECEIVER, RECEIVER, `${RECEIVER}0`)
  }),
  malformed: fc.nat(19).map((place) => place === 0)
})

const values = fc.oneof(fc.constant('100'), fc.bigInt(0n, 300n).map(String), fc.constant('1e3'))
const end: fc.Arbitrary<End> = fc.record({
  payment: payments,
  spent: fc.oneof(fc.tuple(values, values), fc.constant(undefined))
})

type Step =
  | { readonly reserve: readonly Reserve[] }
  | { readonly end: readonly End[] }
  | { readonly advanceSeconds: number }
  | { readonly endToken: number }

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ reserve: fc.array(reserve, { minLength: 1, maxLength: 12 }) }) },
    { weight: 4, arbitrary: fc.record({ end: fc.array(end, { minLength: 1, maxLength: 12 }) }) },
    { weight: 1, arbitrary: fc.record({ advanceSeconds: fc.constantFrom(60, 3_600) }) },
    { weight: 1, arbitrary: fc.record({ endToken: fc.nat(GRANTS.length - 1) }) }
  ),
  { minLength: 2, maxLength: 12 }
)

/** The grants and payments of one run, on one server. */
interface World {
  readonly auth: GrpcFixture
  readonly grants: readonly WrittenGrant[]
  readonly paymentIds: readonly string[]
}

async function begin(auth: GrpcFixture, paymentIds: readonly string[]): Promise<World> {
  auth.clock.set(Date.UTC(2026, 0, 15))
  const grants = await Promise.all(GRANTS.map((access) => auth.grant({ access })))
  return { auth, grants, paymentIds }
}

function reserveMessage({ auth, grants, paymentIds }: World, asked: Reserve): contract.ReservationRequest {
  const message = auth.payment(grants[asked.grant]?.token ?? 'of somebody else', {
    ...asked.options,
    paymentId: paymentIds[asked.payment] as string // one for each place
  })
  return asked.malformed ? { ...message, receiver: 'nowhere' } : message
}

function endMessage({ paymentIds }: World, { payment, spent }: End): contract.ReservationEnd {
  const paymentId = paymentIds[payment] as string // one for each place
  if (spent === undefined) return release(paymentId)
  const [settledDebitValue, settledReceiveValue] = spent
  return { paymentId, end: { $case: 'settlement', value: { settledDebitValue, settledReceiveValue } } }
}

/** Payments in the order of a batch call: repeated payment ids come last. */
function repeatsLast(asked: readonly Reserve[]): Reserve[] {
  const firsts = new Set(
    new Map(
      asked
        .filter(({ malformed }) => !malformed)
        .toReversed()
        .map((one) => [one.payment, one])
    ).values()
  )
  return [...asked.filter((one) => firsts.has(one)), ...asked.filter((one) => !firsts.has(one))]
}

/** Runs a step with one call for each payment. */
async function stepAlone(world: World, step: Step): Promise<unknown> {
  const { auth } = world
  const answers: unknown[] = []
  if ('reserve' in step) {
    const answerOf = new Map<Reserve, unknown>()
    for (const one of repeatsLast(step.reserve)) {
      answerOf.set(one, await auth.reserveAs(reserveMessage(world, one)))
    }
    answers.push(...step.reserve.map((one) => answerOf.get(one)))
  } else if ('end' in step) {
    for (const one of step.end) answers.push(await auth.endAs(endMessage(world, one)))
  } else await change(world, step)
  return answers
}

/** Runs a step with one call. */
async function stepTogether(world: World, step: Step): Promise<unknown> {
  const { auth } = world
  if ('reserve' in step) return auth.reserveMany(step.reserve.map((one) => reserveMessage(world, one)))
  if ('end' in step) return auth.endMany(step.end.map((one) => endMessage(world, one)))
  await change(world, step)
  return []
}

async function change(
  { auth, grants }: World,
  step: Exclude<Step, { reserve: unknown } | { end: unknown }>
): Promise<void> {
  if ('advanceSeconds' in step) auth.clock.advanceSeconds(step.advanceSeconds)
  else {
    await auth.database.query(
      `update access_token set ended_at = now(), end_reason = 'revoked' where id = $1 and ended_at is null`,
      [grants[step.endToken]?.tokenId]
    )
  }
}

/** All counters and reservations, with indexes instead of ids. */
async function stateOf({ auth, grants, paymentIds }: World): Promise<unknown> {
  const windows = await auth.windows()
  const itemIds = grants.flatMap((grant) => grant.itemIds)
  const counted = itemIds.map((id) =>
    Object.entries(windows)
      .filter(([key]) => key.startsWith(id))
      .map(([key, counts]) => [key.slice(id.length), counts])
      .sort()
  )
  const reservations = await auth.database.query<{ payment_id: string; access_item_id: string | null }>(
    `select payment_id, state, refusal_reason, access_item_id, interval_index, debit_value, debit_code, receive_value, receive_code,
            receive_counted, spent_debit_value, spent_receive_value, settled_debit_value, settled_receive_value
       from reservation where payment_id = any($1) order by payment_id`,
    [paymentIds]
  )
  return {
    counted,
    reservations: reservations.map(({ access_item_id: itemId, ...rest }) => ({
      ...rest,
      item: itemId === null ? null : itemIds.indexOf(itemId)
    }))
  }
}

describe('many at once, beside one after the other', () => {
  it('are answered, counted and recorded the same', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (asked) => {
        const paymentIds = Array.from({ length: PAYMENT_COUNT }, () => alone.newId())
        const [one, many] = await Promise.all([begin(alone, paymentIds), begin(together, paymentIds)])
        for (const step of asked) {
          const [expected, answered] = await Promise.all([stepAlone(one, step), stepTogether(many, step)])
          expect(answered).toEqual(expected)
        }
        const [expected, found] = await Promise.all([stateOf(one), stateOf(many)])
        expect(found).toEqual(expected)
      }),
      { numRuns: 15, endOnFailure: true }
    )
    expect(await together.violations()).toEqual([])
  }, 300_000)
})
