import { setTimeout as delay } from 'node:timers/promises'
import {
  consentedToken,
  converged,
  createReceiver,
  eventually,
  outgoingAccess,
  type PlanOptions,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { type OtherRequest, prepareOtherRequests } from './other-requests.js'
import { type Order, PaymentLoad } from './payment-load.js'

const PAYERS = 10
/** Maximum number of times that a client sends a payment without a final answer. */
const SENDINGS_MAX = 8
/** Number of payments that are made before the disturbance. */
const PAYMENTS_BEFORE = 30

/** The only acceptable error during a disturbance: JSON with Retry-After. */
const UNAVAILABLE =
  /^503 1 \{"error":\{"code":"(503|request_denied)","description":"temporarily unavailable"\}\}$/

/** Both services over one PostgreSQL, and the requests of all kinds that can be sent to them. */
export interface LoadedSystem {
  readonly system: System
  readonly load: PaymentLoad
  /** Requests other than payments. */
  readonly others: readonly OtherRequest[]
  /** Runs the load during a disturbance and until everything has recovered. */
  during(happening: (running: RunningLoad) => Promise<void>): Promise<Recovery>
  /** Everything that is wrong: answers compared with the data, the balances, and the audit. */
  wrongs(): Promise<unknown[]>
}

/** The result of a disturbance. */
export interface Recovery {
  /** Time from the end of the disturbance to full recovery, in milliseconds. */
  readonly recoveredMs: number
  /** Longest time between two payments that were made, of all clients together, in milliseconds. */
  readonly longestGapMs: number
  /** Answers that should never occur. */
  readonly wrong: ReadonlySet<string>
  /** How often each status was answered to requests other than payments. */
  readonly counts: Readonly<Record<number, number>>
}

/**
 * Starts both services over a PostgreSQL. Stop it with `system.stop()`.
 *
 * @param options how the system differs from the default
 */
export async function startLoadedSystem(
  postgresUrl: string,
  options: Omit<PlanOptions, 'postgresUrl'> = {}
): Promise<LoadedSystem> {
  const system = await startSystem({
    ...options,
    postgresUrl,
    resource: {
      ORPHAN_AGE_SECONDS: '1',
      SWEEP_INTERVAL_SECONDS: '1',
      PROCESSING_POLL_SECONDS: '1',
      ...options.resource
    }
  })
  const receiver = await createReceiver(system, system.shop)
  const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
  const order = { token, receiver: receiver.url, debit: 7n }
  const others = await prepareOtherRequests(system, token)
  const load = new PaymentLoad(system, system.shop)
  const before = { alice: await system.balance('alice'), bob: await system.balance('bob') }
  return {
    system,
    load,
    others,
    async during(happening) {
      const earlier = load.confirmed.length
      const begunAtMs = performance.now()
      const running = startLoad(load, order, others)
      let endedAtMs: number
      try {
        await eventually('payments are made', async () => load.confirmed.length >= earlier + PAYMENTS_BEFORE)
        await happening(running)
        endedAtMs = performance.now()
        await eventually(
          'a payment succeeds',
          async () => (await load.send(load.order(order)))?.status === 201
        )
      } finally {
        await running.stop()
      }
      await readingAgain(() => converged(system))
      const recoveredMs = Math.round(performance.now() - endedAtMs)
      const longestGapMs = Math.round(load.longestGapMs(begunAtMs))
      console.log({ recoveredMs, longestGapMs, answers: load.statuses, others: running.counts })
      return { recoveredMs, longestGapMs, wrong: running.wrong, counts: running.counts }
    },
    wrongs: () =>
      readingAgain(async () => [
        ...(await load.untruths()),
        ...(await load.differences(before, [order.token])),
        ...(await system.audit())
      ])
  }
}

/** Within which a database that was whole a moment ago can be read: a proxy may take its primary for gone on a busy machine. */
const READABLE_WITHIN_MS = 60_000
const READ_AGAIN_MS = 500

/** Reads what is stored. The tests' own connections, too, may lead to a machine that is gone since. */
async function readingAgain<Found>(read: () => Promise<Found>): Promise<Found> {
  const deadlineMs = Date.now() + READABLE_WITHIN_MS
  for (;;) {
    try {
      return await read()
    } catch (error) {
      if (!isGone(error) || Date.now() > deadlineMs) throw error
      await delay(READ_AGAIN_MS)
    }
  }
}

/** Whether an error tells of a connection, not of what was asked. */
function isGone(error: unknown): boolean {
  return (
    error instanceof Error &&
    /Connection terminated|ECONNRE|the database system is|terminating connection/.test(error.message)
  )
}

/** A load that runs until it is stopped. */
export interface RunningLoad {
  /** How often each status was answered to requests other than payments. */
  readonly counts: Readonly<Record<number, number>>
  /** Waits until this many further requests other than payments are refused; those that wait for a lock are, after 5 s. */
  whenRefused(count: number): Promise<void>
  /** Answers that should never occur. */
  readonly wrong: ReadonlySet<string>
  /** Resolves once all requests are answered. */
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
