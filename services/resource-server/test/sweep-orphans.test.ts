import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger, systemClock, systemRandom, type Worker } from '@open-payments-server/runtime'
import { AuthServerUnavailable, type GrantLimits } from '../src/domain/ports.js'
import { connectAuthServer } from '../src/grpc/auth-server/connection.js'
import { createGrantLimits } from '../src/grpc/auth-server/grant-limits.js'
import { sweep as sweepReservations } from '../src/modules/grant-outcomes/index.js'
import { meetTimeline } from '../src/modules/timeline/index.js'
import { createSweepingWorker } from '../src/workers/payment-workers.js'
import { type FormerIncarnation, recordFormerIncarnation } from './support/former-incarnation.js'
import { openDatabase } from './support/open-database.js'
import { type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

/** What each full sweep left to an operator. */
const kept: number[] = []
/** When the oldest reservation was made that each full sweep found, without those whose payments await approval. */
const unsettled: (number | undefined)[] = []

const PAGE_SIZE = 3
/** Older than any reservation that is still on its way. */
const AGE_SECONDS = 60

let world: PaymentWorld
let connection: ReturnType<typeof connectAuthServer>
let worker: Worker | undefined

beforeAll(async () => {
  // The service's own sweeper runs once at the start, finds nothing, and does not run again.
  world = await startPaymentWorld({ settings: { SWEEP_INTERVAL_SECONDS: '3600' } })
  const target = `127.0.0.1:${String(world.auth.port)}`
  connection = connectAuthServer({ target, deadlineMs: 5_000, messageBytesMax: 1_048_576 })
})
afterEach(async () => {
  await worker?.stop()
  await world.database.query(
    'delete from payment_approval; delete from grant_reservation; delete from database_incarnation'
  )
  await meetTimeline(openDatabase(world.server.pool), false)
  kept.length = 0
  unsettled.length = 0
  world.limits.reservations.clear()
})
afterAll(async () => {
  connection.close()
  await world.stop()
})

/** Open reservations at the auth server, the oldest first; answers their ids. */
function reserve(count: number, ageSeconds: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const paymentId = randomUUID()
    world.limits.reservations.set(paymentId, {
      paymentId,
      content: '',
      accessToken: world.token,
      walletAddress: '',
      receiver: '',
      state: 'open',
      debitAmount: usd(1),
      receiveAmount: usd(1),
      debited: 1n,
      received: 1n,
      createdAt: new Date(Date.now() - ageSeconds * 1_000 + index)
    })
    return paymentId
  })
}

/** The rows of payments that are still pending. */
const persist = (paymentIds: readonly string[]) =>
  world.database.query('insert into grant_reservation (payment_id) select unnest($1::uuid[])', [paymentIds])
const statesOf = (paymentIds: readonly string[]) =>
  paymentIds.map((paymentId) => world.limits.reservations.get(paymentId)?.state)
const givenUp = async () =>
  (
    await world.database.query<{ id: string }>(
      `select payment_id as id from grant_reservation where outcome = 'release'`
    )
  ).map(({ id }) => id)
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await delay(10)
}

/** A sweeper with small pages that runs only when it is woken. Returns the page tokens that it requests. */
function sweep(beforePage: (asked: number) => void = () => undefined): (string | undefined)[] {
  const limits = createGrantLimits(connection.grantLimits, { deadlineMs: 5_000 })
  const asked: (string | undefined)[] = []
  const recorded: GrantLimits = {
    ...limits,
    listOpenReservations(query, options) {
      asked.push(query.pageToken)
      beforePage(asked.length)
      return limits.listOpenReservations(query, options)
    }
  }
  worker = createSweepingWorker({
    database: openDatabase(world.server.pool),
    keepsCommits: false,
    grantLimits: recorded,
    orphanAgeSeconds: AGE_SECONDS,
    holdsFrozen: true,
    clock: systemClock,
    random: systemRandom,
    intervalSeconds: 3_600,
    pageSize: PAGE_SIZE,
    logger: createLogger({ service: 'test', level: 'silent' }),
    counters: {
      countGivenUp: () => undefined,
      showKeptForOperator: (count) => kept.push(count),
      showUnsettledSince: (oldestAtMs) => unsettled.push(oldestAtMs)
    },
    onReservationEnded: () => undefined
  })
  return asked
}

describe('the sweeper', () => {
  it('finds orphans behind more payments that are pending than one page holds', async () => {
    const pending = reserve(4 * PAGE_SIZE, AGE_SECONDS + 20)
    await persist(pending)
    const orphans = reserve(2, AGE_SECONDS + 10)
    const young = reserve(2, 0)
    const asked = sweep()
    await until(async () => (await givenUp()).length === 2)
    expect((await givenUp()).sort()).toEqual(orphans.sort())
    expect(statesOf(pending)).toEqual(pending.map(() => 'open'))
    expect(statesOf(young)).toEqual(['open', 'open'])
    expect(asked).toHaveLength(5)
    expect(asked[0]).toBeUndefined()
  })

  it('neither gives up nor counts as old the reservations of payments that await approval, on any page', async () => {
    const waiting = reserve(2 * PAGE_SIZE, AGE_SECONDS + 30)
    const pending = reserve(PAGE_SIZE, AGE_SECONDS + 20)
    await persist([...waiting, ...pending])
    // Without their payments, which the sweeper does not read.
    await world.database.query(
      `begin; set local session_replication_role = replica;
       insert into payment_approval (payment_id, rule_id, requested_at, expires_at)
         select id::uuid, gen_random_uuid(), now(), now() + interval '1 day'
           from unnest(array['${waiting.join("','")}']) as id;
       commit`
    )
    sweep()
    await until(() => unsettled.length === 1)
    const oldest = world.limits.reservations.get(String(pending[0]))
    expect(unsettled).toEqual([oldest?.createdAt.getTime()])
    for (const paymentId of pending) world.limits.reservations.delete(paymentId)
    worker?.wake()
    await until(() => unsettled.length === 2)
    expect(unsettled[1]).toBeUndefined()
    expect(await givenUp()).toEqual([])
  })

  it('begins with the oldest again once it has seen them all', async () => {
    await persist(reserve(PAGE_SIZE + 1, AGE_SECONDS + 20))
    const asked = sweep()
    await until(() => asked.length === 2)
    const late = reserve(1, AGE_SECONDS + 30)
    worker?.wake()
    await until(async () => (await givenUp()).length === 1)
    expect(await givenUp()).toEqual(late)
    expect(asked[2]).toBeUndefined()
  })

  it('passes over none while reservations on its pages end', async () => {
    const orphans = reserve(4 * PAGE_SIZE, AGE_SECONDS + 20)
    const ending = orphans.filter((_, index) => index % 2 === 0)
    await persist(ending)
    sweep((asked) => {
      // Changes before and after the page token: any change that could shift pages.
      for (const paymentId of ending.splice(0, asked)) {
        Object.assign(world.limits.reservations.get(paymentId)!, { state: 'settled' })
      }
    })
    await until(async () => (await givenUp()).length === 2 * PAGE_SIZE)
    expect((await givenUp()).sort()).toEqual(orphans.filter((_, index) => index % 2 === 1).sort())
  })

  it('goes on where it was when the auth server was silent for a while', async () => {
    await persist(reserve(2 * PAGE_SIZE, AGE_SECONDS + 20))
    const orphans = reserve(1, AGE_SECONDS + 10)
    const asked = sweep((count) => {
      if (count === 3) throw new AuthServerUnavailable(new Error('silent'))
    })
    await until(() => asked.length === 3)
    worker?.wake()
    await until(async () => (await givenUp()).length === 1)
    expect(await givenUp()).toEqual(orphans)
    expect(asked).toHaveLength(4)
    expect(asked[3]).toBe(asked[2])
    expect(asked[3]).toBeDefined()
  })

  it('begins at the front when its place is refused', async () => {
    await persist(reserve(PAGE_SIZE, AGE_SECONDS + 20))
    const orphans = reserve(1, AGE_SECONDS + 10)
    const asked = sweep((count) => {
      if (count === 2) throw new Error('unknown page token')
    })
    await until(() => asked.length === 2)
    worker?.wake()
    await until(async () => (await givenUp()).length === 1)
    expect(await givenUp()).toEqual(orphans)
    expect(asked.map((token) => token === undefined)).toEqual([true, false, true, false])
  })
})

describe('after a change of the timeline', () => {
  /** The one before was met a day ago, and the one that the database is on so many seconds ago. */
  const change = async (secondsAgo: number): Promise<void> => {
    await world.database.query(
      `update database_incarnation set first_seen_at = now() - $1::integer * interval '1 second'`,
      [secondsAgo]
    )
    await recordFormerIncarnation(world.database)
  }

  it('keeps unknown reservations from before the change for an operator', async () => {
    await change(AGE_SECONDS + 30)
    const early = reserve(2 * PAGE_SIZE, AGE_SECONDS + 60)
    const known = reserve(1, AGE_SECONDS + 50)
    await persist(known)
    await world.database.query(
      `insert into grant_reservation (payment_id, outcome, given_up_cause) values ($1, 'release', 'lost')`,
      reserve(1, AGE_SECONDS + 40)
    )
    const late = reserve(PAGE_SIZE, AGE_SECONDS + 10)
    sweep()
    await until(() => kept.length === 1)
    expect(kept).toEqual([early.length])
    expect((await givenUp()).length).toBe(late.length + 1)
    expect(await givenUp()).toEqual(expect.arrayContaining(late))
    expect(statesOf(early)).toEqual(early.map(() => 'open'))
    await world.database.query(
      `insert into grant_reservation (payment_id, outcome, given_up_cause) select unnest($1::uuid[]), 'release', 'lost'`,
      [early]
    )
    worker?.wake()
    await until(() => kept.length === 2)
    expect(kept).toEqual([early.length, 0])
  })

  it('counts one that an operator must decide about though a request gave its id up', async () => {
    await change(AGE_SECONDS + 30)
    await world.database.query(
      `insert into grant_reservation (payment_id, outcome, given_up_cause, delivered_at)
       values ($1, 'release', 'reservation_unknown', now())`,
      reserve(1, AGE_SECONDS + 40)
    )
    sweep()
    await until(() => kept.length === 1)
    expect(kept).toEqual([1])
  })

  it('nothing is given up by whoever did not meet the new one yet', async () => {
    const paymentIds = reserve(2, AGE_SECONDS + 10)
    const database = openDatabase(world.server.pool)
    const sweepAll = () =>
      sweepReservations(
        database,
        paymentIds.map((paymentId) => ({ paymentId, createdAtMs: Date.now() + 1_000 }))
      )
    await world.database.query('update database_incarnation set timeline_id = 0')
    expect(await sweepAll()).toEqual({ givenUp: [], keptForOperator: paymentIds })
    expect(await givenUp()).toEqual([])
    await meetTimeline(database, false)
    expect((await sweepAll()).keptForOperator).toEqual([])
    expect((await givenUp()).sort()).toEqual(paymentIds.sort())
  })

  it.each<[string, boolean, FormerIncarnation, number]>([
    ['nothing where commits are kept', true, {}, 0],
    ['what may be lost where they are not', false, {}, 1],
    ['what a restore may have lost, whatever is kept', true, { lastSeenSecondsAgo: 600 }, 1],
    ['what another cluster may lack, whatever is kept', true, { differsIn: 'system_identifier' }, 1],
    ['what a copy of the database may lack, whatever is kept', true, { differsIn: 'database_oid' }, 1],
    ['what a restored dump may lack, whatever is kept', true, { differsIn: 'table_oid' }, 1]
  ])('keeps %s for an operator', async (_what, keepsCommits, former, keptCount) => {
    const database = openDatabase(world.server.pool)
    const [paymentId] = reserve(1, 60)
    await world.database.query('delete from database_incarnation')
    await recordFormerIncarnation(world.database, { lastSeenSecondsAgo: 15, ...former })
    await meetTimeline(database, keepsCommits)
    const swept = await sweepReservations(database, [
      { paymentId: String(paymentId), createdAtMs: Date.now() - 60_000 }
    ])
    expect([swept.givenUp.length, swept.keptForOperator.length]).toEqual([1 - keptCount, keptCount])
  })

  it('a timeline that goes on is seen again', async () => {
    const database = openDatabase(world.server.pool)
    const [before] = await world.database.query<{ now: Date }>('select now()')
    await world.database.query(`update database_incarnation set last_seen_at = now() - interval '1 hour'`)
    await meetTimeline(database, true)
    expect(
      await world.database.query('select last_seen_at >= $1 as seen from database_incarnation', [before?.now])
    ).toEqual([{ seen: true }])
  })

  it('a database that was met on one timeline alone holds nothing', async () => {
    const orphans = reserve(2, 365 * 24 * 3_600)
    sweep()
    await until(() => kept.length === 1)
    expect(kept).toEqual([0])
    expect((await givenUp()).sort()).toEqual(orphans.sort())
  })
})
