import { performance } from 'node:perf_hooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { allSettled } from '../src/payments.js'
import { PATIENT } from '../src/patience.js'
import {
  forgetReservations,
  type Groundwork,
  layGroundwork,
  type RequestKind,
  requestKinds
} from '../src/request-kinds.js'
import { startSystem, type System } from '../src/system.js'

/** Number of requests that race for the two connections of each service: the last ones wait for a connection, which has its limit. */
const RACING = 8
/** Deadline for the last answer. */
const ANSWERED_WITHIN_MS = 5_000
const MIXED_ROUNDS = 5
/** Maximum duration of a test, including its preparation. */
const TEST_TIMEOUT_MS = 300_000
/** Number of requests that are prepared at once; preparing is not part of the race. */
const PREPARED_AT_ONCE = 8

const KINDS = requestKinds()

/** The first two requests take the two connections. If one needs a second connection, it waits for ever. */
describe('with two database connections for each service', () => {
  let system: System
  let groundwork: Groundwork
  beforeAll(async () => {
    system = await startSystem({
      auth: {
        DATABASE_CONNECTIONS_MAX: '2',
        CONTINUATION_WAIT_SECONDS: '0'
      },
      // Without a cache every request of the resource server needs both databases.
      resource: { ...PATIENT, DATABASE_CONNECTIONS_MAX: '2', INTROSPECTION_CACHE_SECONDS: '0' }
    })
    groundwork = await layGroundwork(system)
  })
  afterEach(async () => {
    await allSettled(system)
    await forgetReservations(groundwork)
  })
  afterAll(() => system.stop())

  it.each(KINDS)(
    `${RACING} at once all end, none later than 5 s: $name`,
    async (kind) => {
      const others = [...KINDS, ...KINDS].filter((other) => other !== kind)
      const racing = kind.racingMax ?? RACING
      await race([
        ...Array.from({ length: racing }, () => kind),
        ...shuffled(others).slice(0, RACING - racing)
      ])
    },
    TEST_TIMEOUT_MS
  )

  it(
    `${RACING} of different kinds at once all end, none later than 5 s, again and again`,
    async () => {
      for (let round = 0; round < MIXED_ROUNDS; round += 1) {
        const kinds = shuffled(KINDS)
        while (kinds.length > 0) await race(kinds.splice(0, RACING))
      }
      await allSettled(system)
      await forgetReservations(groundwork)
      expect(await system.audit()).toEqual([])
    },
    TEST_TIMEOUT_MS
  )

  async function race(kinds: readonly RequestKind[]): Promise<void> {
    const requests = await prepareAll(kinds)
    const start = performance.now()
    const ended = await Promise.all(
      requests.map(async ({ kind, send }) => {
        const answer = await send().catch((error: unknown) => String(error))
        return { request: kind.name, answer, expected: kind.answer, afterMs: performance.now() - start }
      })
    )
    expect(ended.filter(({ answer, expected }) => answer !== expected)).toEqual([])
    expect(ended.filter(({ afterMs }) => afterMs > ANSWERED_WITHIN_MS)).toEqual([])
  }

  async function prepareAll(
    kinds: readonly RequestKind[]
  ): Promise<{ kind: RequestKind; send: () => Promise<string> }[]> {
    const waiting = [...kinds]
    const prepared: { kind: RequestKind; send: () => Promise<string> }[] = []
    const prepare = async (): Promise<void> => {
      for (let kind = waiting.pop(); kind !== undefined; kind = waiting.pop()) {
        prepared.push({ kind, send: await kind.prepare(groundwork) })
      }
    }
    await Promise.all(Array.from({ length: PREPARED_AT_ONCE }, prepare))
    return prepared
  }
})

/** A random order, so that no arrival order is favoured. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
