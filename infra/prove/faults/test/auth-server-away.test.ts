import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  consentedToken,
  converged,
  createReceiver,
  eventually,
  outgoingAccess
} from '@open-payments-server/acceptance'
import { send } from '@open-payments-server/testing'
import { type AwaySystem, CALL_DEADLINE_MS, type Holdings, startAwaySystem } from '../src/away-system.js'
import { type Order, PaymentLoad } from '../src/payment-load.js'
import { type SteadyRequest, SteadyRequests, type TimedAnswer } from '../src/steady-requests.js'

/** How long the auth server is away. */
const AWAY_MS = Number(process.env.AWAY_TEST_SECONDS ?? 6) * 1_000
const PAYERS = 10
/** Payments before the auth server goes, and after it is back. */
const PAYMENTS_AROUND = 30
/** Between two attempts of a client, which is told to wait for a second. */
const REPEAT_MS = 100
/** How often a client sends a payment while the auth server is away, at most: as many as the ids that it may get. */
const SENDINGS_MAX = 8
const SAMPLE_MS = 250
/** A few times what it may take on an idle machine. */
const ANSWERED_WITHIN_MS = 3 * CALL_DEADLINE_MS
const RECOVERED_WITHIN_MS = 15_000
const CONVERGED_WITHIN_MS = 60_000
/** What a resource server may hold more than before, for reasons of its own. */
const MORE = { memoryMiB: 150, files: 40 }
const TIME_LIMIT_MS = 600_000

/** The only acceptable error meanwhile: JSON with Retry-After. */
const UNAVAILABLE =
  /^503 1 \{"error":\{"code":"(503|request_denied)","description":"temporarily unavailable"\}\}$/

/** How the auth server goes away. Resolves to how it comes back. */
const AWAYS: Readonly<Record<string, (system: AwaySystem) => Promise<() => Promise<unknown>>>> = {
  'is killed': async ({ authServer, wire }) => {
    await wire.refuse()
    await authServer.kill()
    return async () => {
      await authServer.start()
      await wire.restore()
    }
  },
  'falls silent, as if its machine had vanished': ({ wire }) => {
    wire.hang()
    return Promise.resolve(() => wire.restore())
  }
}

let system: AwaySystem
let order: Order
let requests: readonly (SteadyRequest & { readonly status: number; readonly needsAuthServer: boolean })[]
beforeAll(async () => {
  system = await startAwaySystem()
  const receiver = await createReceiver(system, system.shop)
  const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
  order = { token, receiver: receiver.url, debit: 7n }
  const list = `${system.resourceServerUrl}/outgoing-payments?wallet-address=${encodeURIComponent(system.walletAddresses.alice)}`
  requests = [
    {
      name: 'an incoming payment',
      perSecond: 20,
      status: 200,
      needsAuthServer: true,
      send: () => system.shop.request('GET', receiver.url, { accessToken: receiver.token })
    },
    {
      name: 'the outgoing payments',
      perSecond: 10,
      status: 200,
      needsAuthServer: true,
      send: () => system.shop.request('GET', list, { accessToken: token })
    },
    {
      name: 'a wallet address',
      perSecond: 10,
      status: 200,
      needsAuthServer: false,
      send: () => send('GET', system.walletAddresses.bob)
    }
  ]
}, TIME_LIMIT_MS)
afterAll(() => system.stop(), TIME_LIMIT_MS)

describe('while payments and other requests go on, an auth server that', () => {
  it.each(Object.entries(AWAYS))(
    `%s, for ${String(AWAY_MS / 1_000)} s`,
    async (how, goAway) => {
      const load = new PaymentLoad(system, system.shop, how)
      const before = { alice: await system.balance('alice'), bob: await system.balance('bob') }
      const spentBefore = await load.spent([order.token])
      const paying = startPaying(load)
      const steady = new SteadyRequests(requests)
      const paid = (count: number) =>
        eventually('payments are made', async () => load.confirmed.length >= count, CONVERGED_WITHIN_MS)
      let away
      try {
        await paid(PAYMENTS_AROUND)
        const atFirst = await system.holdings()
        const fromMs = performance.now()
        const comeBack = await goAway(system)
        const goneMs = performance.now()
        const most = await watch(AWAY_MS)
        const untilMs = performance.now()
        await comeBack()
        const backMs = performance.now()
        await eventually('a payment succeeds', async () => paying.lastPaidMs > backMs, RECOVERED_WITHIN_MS)
        const recoveredMs = Math.round(paying.lastPaidMs - backMs)
        await paid(load.confirmed.length + PAYMENTS_AROUND)
        away = { atFirst, most, fromMs, goneMs, untilMs, backMs, recoveredMs }
      } finally {
        paying.stop()
        await Promise.all([steady.stop(), paying.stopped])
      }
      await load.sendUndecided(2, CONVERGED_WITHIN_MS)
      await converged(system, CONVERGED_WITHIN_MS)
      const atLast = await system.holdings()
      const meanwhile = steady.sentIn(away.goneMs, away.untilMs)
      const slowest = slowestOf([...meanwhile, ...paying.attempts.filter(isIn(away.goneMs, away.untilMs))])
      console.log({
        recoveredMs: away.recoveredMs,
        slowest,
        payments: load.statuses,
        held: { atFirst: away.atFirst, most: away.most, atLast }
      })

      // Nobody is told anything that is not true, or waits for it for long.
      expect(wrongsOf([...steady.answers, ...paying.attempts])).toEqual([])
      expect(meanwhile.filter(({ answer }) => answer?.status === 503).length).toBeGreaterThan(0)
      for (const { tookMs } of meanwhile) expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS)
      // What does not need it goes on.
      for (const { name, answer } of steady.answers) {
        if (requests.some((request) => request.name === name && !request.needsAuthServer))
          expect(answer?.status).toBe(200)
      }
      // Nothing piles up.
      expect(away.most.memoryMiB).toBeLessThan(away.atFirst.memoryMiB + MORE.memoryMiB)
      expect(away.most.databaseConnections).toBeLessThanOrEqual(16)
      if (!Number.isNaN(atLast.files)) expect(atLast.files).toBeLessThan(away.atFirst.files + MORE.files)
      expect(away.most.requestsInFlight).toBeLessThan(steadyRate() * (CALL_DEADLINE_MS / 1_000) * 2 + PAYERS)
      // All is well again.
      const sinceBack = steady.sentIn(away.backMs + RECOVERED_WITHIN_MS, Infinity)
      expect(sinceBack.filter(({ answer }) => answer?.status === 503)).toEqual([])
      expect(load.doubts).toEqual([])
      expect(await load.untruths()).toEqual([])
      const { sent, delivered } = await load.totals()
      expect(before.alice - (await system.balance('alice'))).toBe(sent)
      expect((await system.balance('bob')) - before.bob).toBe(delivered)
      expect((await load.spent([order.token])) - spentBefore).toBe(sent)
      expect(await system.audit()).toEqual([])
    },
    TIME_LIMIT_MS
  )
})

/** Requests a second, payments aside. */
function steadyRate(): number {
  return requests.reduce((sum, { perSecond }) => sum + perSecond, 0)
}

/** Clients who pay one after the other, and repeat what was refused, until they are stopped. */
function startPaying(load: PaymentLoad) {
  const attempts: TimedAnswer[] = []
  let running = true
  let lastPaidMs = 0
  const attempt = async (payment: ReturnType<PaymentLoad['order']>): Promise<boolean> => {
    const sentAtMs = performance.now()
    const answer = await load.send(payment)
    attempts.push({ name: 'a payment', sentAtMs, tookMs: performance.now() - sentAtMs, answer })
    if (answer?.status !== 201) return false
    lastPaidMs = performance.now()
    return true
  }
  const payer = async (): Promise<void> => {
    while (running) {
      const payment = load.order(order)
      for (let count = 0; count < SENDINGS_MAX && !(await attempt(payment)); count += 1)
        await delay(REPEAT_MS)
    }
  }
  const stopped = Promise.all(Array.from({ length: PAYERS }, payer))
  return {
    attempts,
    stopped,
    get lastPaidMs() {
      return lastPaidMs
    },
    stop() {
      running = false
    }
  }
}

/** The most that the resource server holds within a time. */
async function watch(forMs: number): Promise<Holdings> {
  const untilMs = performance.now() + forMs
  let most = await system.holdings()
  while (performance.now() < untilMs) {
    await delay(SAMPLE_MS)
    const now = await system.holdings()
    most = {
      memoryMiB: Math.max(most.memoryMiB, now.memoryMiB),
      files: Math.max(most.files, now.files),
      requestsInFlight: Math.max(most.requestsInFlight, now.requestsInFlight),
      databaseConnections: Math.max(most.databaseConnections, now.databaseConnections)
    }
  }
  return most
}

/** Answers that should never occur. */
function wrongsOf(answers: readonly TimedAnswer[]): string[] {
  const right = new Map([['a payment', 201], ...requests.map(({ name, status }) => [name, status] as const)])
  return answers.flatMap(({ name, answer }) => {
    const told = `${String(answer?.status)} ${String(answer?.headers.get('retry-after'))} ${String(answer?.text)}`
    return answer?.status === right.get(name) || UNAVAILABLE.test(told) ? [] : [`${name}: ${told}`]
  })
}

/** How long half of the refusals took, and the slowest, by what was asked for, in milliseconds. */
function slowestOf(answers: readonly TimedAnswer[]): Record<string, string> {
  const names = [...new Set(answers.map(({ name }) => name))]
  return Object.fromEntries(
    names.map((name) => {
      const took = answers
        .filter((timed) => timed.name === name)
        .map(({ tookMs }) => Math.round(tookMs))
        .sort((one, other) => one - other)
      return [
        name,
        `${String(took.length)}: median ${String(took[took.length >> 1])}, all ${String(took.at(-1))}`
      ]
    })
  )
}

function isIn(fromMs: number, untilMs: number): (answer: TimedAnswer) => boolean {
  return ({ sentAtMs }) => sentAtMs >= fromMs && sentAtMs < untilMs
}
