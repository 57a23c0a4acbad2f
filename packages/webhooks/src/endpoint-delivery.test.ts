import type { ToldEvent } from '@open-payments-server/events'
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { AttemptResult } from './attempt.js'
import { EndpointDelivery, UNDELIVERED_MAX } from './endpoint-delivery.js'
import type { LeasedEndpoint, Progress, Undelivered } from './leases.js'

const SUBJECTS_MAX = 4

/** What the database knows of an endpoint, and the events of its service. */
class Endpoint {
  reachedNumber = 0n
  failingSinceMs: number | undefined
  disabledCause: string | undefined
  readonly undelivered = new Map<bigint, Undelivered>()
  readonly givenUp: bigint[] = []

  get leased(): LeasedEndpoint {
    const { reachedNumber, failingSinceMs } = this
    const undelivered = [...this.undelivered.values()].sort((one, other) => Number(one.number - other.number))
    const settings = {
      id: 'endpoint',
      url: 'https://hooks.example/',
      types: [],
      walletAddress: undefined,
      sealedSecrets: []
    }
    return { ...settings, reachedNumber, failingSinceMs, undelivered }
  }

  record(progress: Progress): void {
    this.reachedNumber = progress.reachedNumber
    this.failingSinceMs = progress.failingSinceMs
    this.disabledCause = progress.disabledCause
    for (const number of progress.deliveredNumbers) this.undelivered.delete(number)
    for (const state of progress.undelivered) this.undelivered.set(state.number, state)
    for (const { number } of progress.givenUp) {
      this.undelivered.delete(number)
      this.givenUp.push(number)
    }
  }
}

function eventsOf(subjects: readonly number[]): readonly ToldEvent[] {
  return subjects.map((subject, index) => ({
    number: BigInt(index + 1),
    id: `event-${String(index + 1)}`,
    type: 'test',
    occurredAtMs: 0,
    traceParent: undefined,
    subjectId: `subject-${String(subject)}`,
    change: undefined,
    subject: `https://wallet.example/${String(subject)}`,
    data: null
  }))
}

function resultOf(event: ToldEvent, nowMs: number, isTaken: boolean): AttemptResult {
  const attempt = { eventId: event.id, eventType: event.type, attemptedAtMs: nowMs, durationMs: 1 }
  return {
    attempt: { ...attempt, status: isTaken ? 200 : 500, failure: isTaken ? undefined : 'status' },
    isGone: false,
    retryAfterMs: undefined
  }
}

it('whatever fails, crashes and is slow: every event is delivered, in order for each subject', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: SUBJECTS_MAX - 1 }), { minLength: 1, maxLength: 60 }),
      // How each attempt ends, and whether the process dies before recording a round; then all goes well.
      fc.array(fc.boolean(), { maxLength: 120 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 40 }),
      async (subjects, takes, deaths) => {
        const events = eventsOf(subjects)
        const endpoint = new Endpoint()
        const taken: ToldEvent[] = []
        const rounds = [...deaths]
        const answers = [...takes]
        let nowMs = 0
        let isDead = false
        const start = () =>
          new EndpointDelivery(endpoint.leased, {
            source: {
              after: (number) => {
                const batch = events.filter((event) => event.number > number).slice(0, 7)
                return Promise.resolve({ events: batch, toNumber: batch.at(-1)?.number ?? number })
              },
              numbered: (numbers) =>
                Promise.resolve(
                  new Map(
                    events
                      .filter(({ number }) => numbers.includes(number))
                      .map((event) => [event.number, event])
                  )
                )
            },
            async attempt(event) {
              await Promise.resolve()
              const isTaken = answers.shift() ?? true
              if (isTaken) taken.push(event)
              return resultOf(event, nowMs, isTaken)
            },
            wants: () => true,
            record(progress) {
              isDead = rounds.shift() === 0
              if (!isDead) endpoint.record(progress)
              return Promise.resolve(!isDead)
            },
            newestNumber: () => BigInt(events.length),
            isHeld: () => true,
            now: () => nowMs,
            random: () => 0.5
          })
        let delivery = start()
        for (let round = 0; round < 500; round += 1) {
          const next = await delivery.deliver()
          if (next === 'ended') {
            expect(isDead).toBe(true)
            delivery = start()
          } else if (next === undefined) break
          else nowMs = Math.max(nowMs + 1, next)
        }
        expect(endpoint.undelivered.size).toBe(0)
        expect(endpoint.givenUp).toEqual([])
        const [...ids] = new Set(taken.map(({ id }) => id))
        expect(ids.length).toBe(events.length)
        for (const subject of new Set(events.map(({ subjectId }) => subjectId))) {
          const of = (list: readonly ToldEvent[]): string[] =>
            list.filter(({ subjectId }) => subjectId === subject).map(({ id }) => id)
          // First deliveries are in order; a repetition after a death begins again where nothing was recorded.
          expect([...new Set(of(taken))]).toEqual(of(events))
        }
      }
    ),
    { numRuns: 300 }
  )
})

it('an endpoint that is down gets one event at a time, and no more are read', async () => {
  const events = eventsOf(Array.from({ length: 5_000 }, (_, index) => index))
  const endpoint = new Endpoint()
  let nowMs = 0
  let attempts = 0
  const delivery = new EndpointDelivery(endpoint.leased, {
    source: {
      after: (number) => {
        const batch = events.filter((event) => event.number > number).slice(0, 100)
        return Promise.resolve({ events: batch, toNumber: batch.at(-1)?.number ?? number })
      },
      numbered: (numbers) =>
        Promise.resolve(
          new Map(
            events.filter(({ number }) => numbers.includes(number)).map((event) => [event.number, event])
          )
        )
    },
    attempt(event) {
      attempts += 1
      return Promise.resolve(resultOf(event, nowMs, false))
    },
    wants: () => true,
    record(progress) {
      endpoint.record(progress)
      return Promise.resolve(true)
    },
    newestNumber: () => BigInt(events.length),
    isHeld: () => true,
    now: () => nowMs,
    random: () => 0.5
  })
  await delivery.deliver()
  expect(endpoint.undelivered.size).toBeLessThanOrEqual(UNDELIVERED_MAX)
  const firstRound = attempts
  for (let round = 0; round < 20; round += 1) {
    const next = await delivery.deliver()
    nowMs = typeof next === 'number' ? next : nowMs
  }
  expect(attempts - firstRound).toBeLessThanOrEqual(20)
  expect(endpoint.reachedNumber).toBe(100n)
})

it('an endpoint whose lease is over is left at once, and not asked for again and again', async () => {
  const endpoint = new Endpoint()
  endpoint.undelivered.set(1n, {
    number: 1n,
    subjectId: 'subject-0',
    attempts: 0,
    firstAttemptedAtMs: undefined,
    dueAtMs: undefined
  })
  let calls = 0
  const counted = <Value>(value: Value): Promise<Value> => {
    calls += 1
    return Promise.resolve(value)
  }
  const delivery = new EndpointDelivery(endpoint.leased, {
    source: {
      after: (number) => counted({ events: [], toNumber: number }),
      numbered: () => counted(new Map())
    },
    attempt: () => counted(undefined),
    wants: () => true,
    record: () => counted(true),
    newestNumber: () => 1n,
    isHeld: () => false,
    now: () => 0,
    random: () => 0.5
  })
  expect(await delivery.deliver()).toBe('ended')
  expect(calls).toBe(0)
})
