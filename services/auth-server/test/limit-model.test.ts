import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  type Answer,
  describe as inShort,
  eur,
  GrpcFixture,
  RECEIVER,
  spending,
  usd
} from './support/grpc-fixture.js'
import { LimitsModel, type ModelItem, type ModelPayment } from './support/limits-model.js'

/** How many sequences of calls are tried; more where there is time. */
const RUNS = Number(process.env.MODEL_TEST_RUNS ?? 12)
/** Repeats a run that failed: fast-check prints its seed. */
const SEED = process.env.MODEL_TEST_SEED
/** How long all sequences may take. A failure is told by then, however small it could still be made. */
const TIME_LIMIT_MS = 30_000 + RUNS * 2_000
const START_MS = Date.UTC(2026, 0, 1)
const PAYMENT_COUNT = 10
const RECEIVERS = [RECEIVER, `${RECEIVER}0`]

const GRANTS: readonly (readonly ModelItem[])[] = [
  [{ debitMax: 300n, receiveMax: 250n, hours: 3 }],
  [{ debitMax: 400n }],
  [
    { receiver: RECEIVER, receiveMax: 150n },
    { debitMax: 200n, hours: 2 },
    { debitMax: 100n, hours: 1_000 }
  ]
]

type Step =
  | { readonly do: 'reserve'; readonly id: number; readonly payment: ModelPayment }
  /** Sends what was sent first under that id. */
  | { readonly do: 'repeat'; readonly id: number }
  | { readonly do: 'settle'; readonly id: number; readonly debited: bigint; readonly received: bigint }
  | { readonly do: 'release'; readonly id: number }
  | { readonly do: 'wait'; readonly minutes: number }

const ids = fc.nat({ max: PAYMENT_COUNT - 1 })
const values = fc.oneof(fc.bigInt({ min: 0n, max: 160n }), fc.constant(50n), fc.constant(100n))
const payments: fc.Arbitrary<ModelPayment> = fc.record({
  grant: fc.nat({ max: GRANTS.length - 1 }),
  debit: values,
  receive: values,
  asset: fc.oneof({ arbitrary: fc.constant('USD' as const), weight: 3 }, fc.constant('EUR' as const)),
  receiver: fc.constantFrom(...RECEIVERS)
})
const steps: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('reserve' as const), id: ids, payment: payments }), weight: 6 },
  { arbitrary: fc.record({ do: fc.constant('repeat' as const), id: ids }), weight: 3 },
  {
    arbitrary: fc.record({ do: fc.constant('settle' as const), id: ids, debited: values, received: values }),
    weight: 3
  },
  { arbitrary: fc.record({ do: fc.constant('release' as const), id: ids }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.nat({ max: 45 }) }), weight: 1 }
)

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

/** One sequence of calls, made to the server and to the model. */
class Run {
  readonly model = new LimitsModel(GRANTS)
  readonly #paymentIds = Array.from({ length: PAYMENT_COUNT }, () => auth.newId())
  readonly #sent = new Map<number, ModelPayment>()

  constructor(private readonly grants: readonly { token: string; itemIds: readonly string[] }[]) {}

  static async begin(): Promise<Run> {
    auth.clock.set(START_MS)
    return new Run(await Promise.all(GRANTS.map((items) => auth.grant({ access: items.map(accessItem) }))))
  }

  /** Makes one call, and expects the answer of the model. */
  async make(step: Step): Promise<void> {
    switch (step.do) {
      case 'reserve':
        return this.#reserve(step.id, step.payment)
      case 'repeat': {
        const payment = this.#sent.get(step.id)
        return payment && this.#reserve(step.id, payment)
      }
      case 'settle': {
        const { id, debited, received } = step
        const expected = this.model.settle(id, debited, received)
        expect(await auth.settle(this.#paymentId(id), debited, received)).toBe(expected)
        return
      }
      case 'release':
        expect(await auth.release(this.#paymentId(step.id))).toBe(this.model.release(step.id))
        return
      case 'wait':
        this.model.minutes += step.minutes
        auth.clock.advanceSeconds(step.minutes * 60)
    }
  }

  /** Expects the counters and the spent amounts of the model. */
  async compare(): Promise<void> {
    const counted = await auth.windows()
    const mine = this.grants.flatMap(({ itemIds }) => itemIds)
    const expected = this.model
      .windows()
      .map(({ grant, item, hour, debited, received }) => [
        `${String(this.grants[grant]?.itemIds[item])}/${String(hour)}`,
        [debited.toString(), received.toString()]
      ])
    expect(
      Object.fromEntries(Object.entries(counted).filter(([key]) => mine.some((id) => key.startsWith(id))))
    ).toEqual(Object.fromEntries(expected))
    for (const [index, { token }] of this.grants.entries()) {
      const spent = await auth.call('getSpentAmounts', { accessToken: token })
      const answer = [inShort(spent.spentDebitAmount), inShort(spent.spentReceiveAmount)]
      expect(answer).toEqual(this.model.spent(index) ?? ['none', 'none'])
    }
    expect(await auth.violations()).toEqual([])
  }

  async #reserve(id: number, payment: ModelPayment): Promise<void> {
    if (!this.#sent.has(id)) this.#sent.set(id, payment)
    const expected: Answer = this.model.reserve(id, payment)
    const { debit, receive, asset, receiver } = payment
    const answer = await auth.reserve(String(this.grants[payment.grant]?.token), {
      paymentId: this.#paymentId(id),
      debit: usd(debit),
      receive: asset === 'USD' ? usd(receive) : eur(receive),
      receiver
    })
    expect(answer).toEqual(expected)
  }

  #paymentId(id: number): string {
    return String(this.#paymentIds[id])
  }
}

function accessItem({ receiver, debitMax, receiveMax, hours }: ModelItem) {
  const start = new Date(START_MS).toISOString()
  return spending({
    receiver,
    debitAmount: debitMax === undefined ? undefined : usd(debitMax),
    receiveAmount: receiveMax === undefined ? undefined : usd(receiveMax),
    interval: hours === undefined ? undefined : `R${String(hours)}/${start}/PT1H`
  })
}

describe('the limits, whatever is called in whatever order', () => {
  it(
    `answer and count as the model says (${String(RUNS)} sequences of calls)`,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(steps, { minLength: 20, maxLength: 60 }), async (sequence) => {
          const run = await Run.begin()
          for (const step of sequence) await run.make(step)
          await run.compare()
        }),
        {
          numRuns: RUNS,
          interruptAfterTimeLimit: TIME_LIMIT_MS,
          markInterruptAsFailure: true,
          ...(SEED === undefined ? {} : { seed: Number(SEED) })
        }
      )
    },
    TIME_LIMIT_MS + 10_000
  )
})
