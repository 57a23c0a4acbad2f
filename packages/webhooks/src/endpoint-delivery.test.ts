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

/** An endpoint, its events, and a clock that is set by hand. */
function startDelivery(events: ToldEvent[], takes: (event: ToldEvent) => boolean, lastsMs = 0) {
  const endpoint = new Endpoint()
  const state = { nowMs: 0, attempted: [] as ToldEvent[], taken: [] as ToldEvent[] }
  const lease = () =>
    new EndpointDelivery(endpoint.leased, {
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
      async attempt(event) {
        state.attempted.push(event)
        const isTaken = takes(event)
        const result = resultOf(event, state.nowMs, isTaken)
        await Promise.resolve()
        state.nowMs += lastsMs
        if (isTaken) state.taken.push(event)
        return result
      },
      wants: () => true,
      record(progress) {
        endpoint.record(progress)
        return Promise.resolve(true)
      },
      newestNumber: () => BigInt(events.length),
      isHeld: () => true,
      now: () => state.nowMs,
      random: () => 0.5
    })
  return { endpoint, state, lease }
}

it('an endpoint that is down gets one event at a time, and of later ones at most one a minute', async () => {
  const events = [...eventsOf(Array.from({ length: 5_000 }, (_, index) => index))]
  const { endpoint, state, lease } = startDelivery(events, () => false)
  const delivery = lease()
  await delivery.deliver()
  expect(endpoint.undelivered.size).toBeLessThanOrEqual(UNDELIVERED_MAX)
  for (let round = 0; round < 20; round += 1) {
    const before = state.attempted.length
    const next = await delivery.deliver()
    expect(state.attempted.length - before).toBeLessThanOrEqual(1)
    state.nowMs = Math.max(state.nowMs, Number(next))
  }
  expect(endpoint.reachedNumber).toBe(100n)
  while (state.nowMs < 3_600_000) state.nowMs = Math.max(state.nowMs, Number(await delivery.deliver()))
  expect(endpoint.reachedNumber).toBeLessThanOrEqual(160n)
})

it.each(['goes on', 'is taken over by another process'])(
  'an event that is never taken holds up no other subject: delivery %s',
  async (what) => {
    const events = [...eventsOf([0])]
    const { endpoint, state, lease } = startDelivery(events, ({ subjectId }) => subjectId !== 'subject-0')
    let delivery = lease()
    // Nothing else happens for a day.
    while (state.nowMs < 24 * 3_600_000) state.nowMs = Math.max(state.nowMs, Number(await delivery.deliver()))
    if (what !== 'goes on') delivery = lease()
    events.splice(0, 1, ...eventsOf([0, 1, 0, 2, 3]))
    const dueAtMs = state.nowMs + 60_000
    while (state.taken.length < 3 && state.nowMs <= dueAtMs)
      state.nowMs = Math.max(state.nowMs, Number(await delivery.deliver()))
    expect(state.taken.map(({ subjectId }) => subjectId)).toEqual(['subject-1', 'subject-2', 'subject-3'])
    expect([...endpoint.undelivered.keys()]).toEqual([1n, 3n])
  }
)

it('an endpoint that is slow with many events of one subject gets those of others meanwhile', async () => {
  const events = [...eventsOf(Array.from({ length: 50 }, () => 0))]
  const { state, lease } = startDelivery(
    events,
    () => {
      if (events.length === 50) events.splice(0, 50, ...eventsOf([...Array.from({ length: 50 }, () => 0), 1]))
      return true
    },
    2_000
  )
  const delivery = lease()
  while (state.taken.length < 51) await delivery.deliver()
  const place = state.taken.findIndex(({ subjectId }) => subjectId === 'subject-1')
  expect(place).toBeLessThan(6)
  expect(state.taken.filter((_, index) => index !== place).map(({ number }) => number)).toEqual(
    events.slice(0, 50).map(({ number }) => number)
  )
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
