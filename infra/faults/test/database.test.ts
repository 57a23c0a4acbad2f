import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import type { TestDatabase } from '@open-payments-server/testing'
import pg from 'pg'
import { type OtherRequest, prepareOtherRequests } from '../src/other-requests.js'
import { converged, type Order, PaymentLoad } from '../src/payment-load.js'
import { RestartablePostgres } from '../src/restartable-postgres.js'

const PAYERS = 10
/** How often a client sends a payment at most while it is told nothing that decides. */
const SENDINGS_MAX = 8
/** Payments that are made before something gets in the way. */
const PAYMENTS_BEFORE = 30
/** How long a database stays away. */
const AWAY_MS = 1_500
/** From when the database is there again until everything is as it should be. */
const RECOVERED_WITHIN_MS = 10_000
const TIME_LIMIT_MS = 120_000

/** What a client is told that comes at a bad moment: JSON, when to come again, and nothing else. */
const UNAVAILABLE =
  /^503 1 \{"error":\{"code":"(503|request_denied)","description":"temporarily unavailable"\}\}$/

describe('while payments and other requests go on, a database that', () => {
  let postgres: RestartablePostgres
  let system: System
  let others: OtherRequest[]
  let order: Order
  let load: PaymentLoad
  let before: { alice: bigint; bob: bigint }

  beforeAll(async () => {
    postgres = await RestartablePostgres.start()
    system = await startSystem({
      postgresUrl: postgres.url,
      resource: { ORPHAN_AGE_SECONDS: '1', SWEEP_INTERVAL_SECONDS: '1', PROCESSING_POLL_SECONDS: '1' }
    })
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    order = { token, receiver: receiver.url, debit: 7n }
    others = await prepareOtherRequests(system, token)
    load = new PaymentLoad(system, system.shop)
    before = { alice: await system.balance('alice'), bob: await system.balance('bob') }
  }, TIME_LIMIT_MS)
  afterAll(async () => {
    await system.stop()
    await postgres.stop()
  })

  /** Runs the load while something happens, and beyond until everything has recovered. */
  const duringLoad = async (happening: (running: RunningLoad) => Promise<void>): Promise<void> => {
    const earlier = load.confirmed.length
    const running = startLoad(load, order, others)
    let endedAtMs: number
    try {
      await eventually('payments are made', async () => load.confirmed.length >= earlier + PAYMENTS_BEFORE)
      await happening(running)
      endedAtMs = performance.now()
      await eventually('a payment succeeds', async () => (await load.send(load.order(order)))?.status === 201)
    } finally {
      await running.stop()
    }
    await converged(system)
    const recoveredMs = Math.round(performance.now() - endedAtMs)
    console.log({ recoveredMs, answers: load.statuses, others: running.counts })
    expect(running.wrong).toEqual(new Set())
    expect(recoveredMs).toBeLessThan(RECOVERED_WITHIN_MS)
    expect(await load.untruths()).toEqual([])
    expect(await load.differences(before, [order.token])).toEqual([])
    expect(await system.audit()).toEqual([])
    expect(running.counts[503] ?? 0).toBeGreaterThan(0)
  }

  it.each([
    ['at once', 0],
    ['after a while', AWAY_MS]
  ])(
    'crashes and is back %s',
    (_when, awayMs) =>
      duringLoad(async () => {
        await postgres.crash()
        await delay(awayMs)
        await postgres.restart()
      }),
    TIME_LIMIT_MS
  )

  it(
    'crashes again as soon as it is back',
    () =>
      duringLoad(async () => {
        for (let count = 0; count < 2; count += 1) {
          await postgres.crash()
          await postgres.restart()
        }
      }),
    TIME_LIMIT_MS
  )

  it(
    'is away for longer than a client is kept waiting: it then gets no answer, and the truth when it asks again',
    () =>
      duringLoad(async () => {
        await postgres.crash()
        await eventually('clients get no answer', async () => 'no answer' in load.statuses)
        await postgres.restart()
      }),
    TIME_LIMIT_MS
  )

  it(
    'has no connection left',
    () =>
      duringLoad(async (running) => {
        const giveBack = await postgres.takeAllConnections()
        await running.whenRefused(others.length)
        await giveBack()
      }),
    TIME_LIMIT_MS
  )

  it(
    'keeps payments, limits and grants locked for longer than a statement may take',
    () =>
      duringLoad(async (running) => {
        const unlock = await Promise.all([
          lockTable(system.resourceDatabase, 'outgoing_payment'),
          lockTable(system.authDatabase, 'limit_window'),
          lockTable(system.authDatabase, 'grant_request')
        ])
        await running.whenRefused(1)
        for (const release of unlock) await release()
      }),
    TIME_LIMIT_MS
  )

  it(
    'keeps accounts locked for longer than a statement may take',
    () =>
      duringLoad(async (running) => {
        const unlock = await lockTable(system.resourceDatabase, 'account')
        await running.whenRefused(1)
        await unlock()
      }),
    TIME_LIMIT_MS
  )
})

/** Locks a table against everybody. @returns unlocks it */
async function lockTable(database: TestDatabase, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin')
  await client.query(`lock table ${pg.escapeIdentifier(table)} in access exclusive mode`)
  return () => client.end()
}

/** A load that runs until it is stopped. */
interface RunningLoad {
  /** How often each status was answered to requests other than payments. */
  readonly counts: Readonly<Record<number, number>>
  /** Waits until so many further requests other than payments are refused; those that wait for a lock are after 5 s. */
  whenRefused(count: number): Promise<void>
  /** Answers that nobody should get. */
  readonly wrong: ReadonlySet<string>
  /** Resolves once all that was sent is answered. */
  stop(): Promise<void>
}

function startLoad(load: PaymentLoad, order: Order, others: readonly OtherRequest[]): RunningLoad {
  const counts: Record<number, number> = {}
  const wrong = new Set<string>()
  let stopping = false
  const payer = async (): Promise<void> => {
    while (!stopping) {
      const payment = load.order(order)
      for (let count = 0; count < SENDINGS_MAX; count += 1) {
        const answer = await load.send(payment)
        if (answer?.status === 201) break
        if (answer !== undefined && !isUnavailable(answer))
          wrong.add(`a payment: ${String(answer.status)} ${answer.text}`)
        await delay(100)
      }
    }
  }
  const asker = async ({ name, status, send }: OtherRequest): Promise<void> => {
    while (!stopping) {
      const answer = await send()
      counts[answer.status] = (counts[answer.status] ?? 0) + 1
      if (answer.status !== status && !isUnavailable(answer))
        wrong.add(`${name}: ${String(answer.status)} ${answer.text}`)
      await delay(20)
    }
  }
  const running = Promise.all([...Array.from({ length: PAYERS }, payer), ...others.map(asker)])
  return {
    counts,
    wrong,
    async whenRefused(count) {
      const due = (counts[503] ?? 0) + count
      await eventually('requests are refused', async () => (counts[503] ?? 0) >= due)
    },
    async stop() {
      stopping = true
      await running
    }
  }
}

function isUnavailable({ status, headers, text }: Awaited<ReturnType<OtherRequest['send']>>): boolean {
  return UNAVAILABLE.test(`${String(status)} ${String(headers.get('retry-after'))} ${text}`)
}
