import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { auth as contract } from '@open-payments-server/proto'
import { type Answer, eur, GrpcFixture, spending, usd } from './support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start({ connectionsMax: 32 })
})
afterAll(() => auth.stop())

// After every test, every counter equals its reservations and is within the limits, and there was no deadlock.
afterEach(async () => {
  expect(await auth.violations()).toEqual([])
  expect(await auth.deadlocks()).toBe(0)
})

const isReserved = (answer: Answer): boolean => 'reserved' in answer

/** A random order, so that no arrival order is favoured. */
function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}

/** The sums of an access item, computed from its reservations. */
async function reservedUnder(itemId: string | undefined): Promise<{ debited: bigint; received: bigint }> {
  const [row] = await auth.database.query<{ debited: string; received: string }>(
    `select coalesce(sum(case state when 'settled' then settled_debit_value else debit_value end), 0) as debited,
            coalesce(sum(case state when 'settled' then settled_receive_value else receive_value end), 0) as received
       from reservation where access_item_id = $1 and state in ('open', 'settled')`,
    [itemId]
  )
  return { debited: BigInt(row?.debited ?? 0), received: BigInt(row?.received ?? 0) }
}

async function countedUnder(itemId: string | undefined): Promise<{ debited: bigint; received: bigint }> {
  const [debited, received] = (await auth.windows())[`${String(itemId)}/0`] ?? ['0', '0']
  return { debited: BigInt(debited), received: BigInt(received) }
}

/** Waits until this many statements of this database wait for a lock, or everything has ended. */
async function untilWaiting(count: number, isOver: () => boolean = () => false): Promise<void> {
  while (!isOver()) {
    const rows = await auth.database.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    )
    if (rows.length >= count) return
    // Polling without a pause would take CPU time from the statements.
    await delay(5)
  }
}

describe('payments that race for one grant', () => {
  it('60 at once on room for 10: exactly 10 are reserved, each told a different total', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const answers = await Promise.all(Array.from({ length: 60 }, () => auth.reserve(token)))
    const totals = answers.flatMap((answer) => ('reserved' in answer ? [answer.reserved[0]] : []))
    expect(totals.sort()).toEqual(
      Array.from({ length: 10 }, (_, index) => `${String(index + 1)}00 USD`).sort()
    )
    expect(answers.filter((answer) => !isReserved(answer))).toEqual(
      Array.from({ length: 50 }, () => ({ refused: 'LIMIT_EXCEEDED' }))
    )
    expect(await countedUnder(itemIds[0])).toEqual({ debited: 1_000n, received: 1_000n })
  })

  it('60 at once on two items with room for 5 each: exactly 10 are reserved', async () => {
    const limits = { receiveAmount: usd(500n) }
    const { token, itemIds } = await auth.grant({ access: [spending(limits), spending(limits)] })
    const answers = await Promise.all(Array.from({ length: 60 }, () => auth.reserve(token)))
    expect(answers.filter(isReserved)).toHaveLength(10)
    for (const itemId of itemIds) expect((await countedUnder(itemId)).received).toBe(500n)
  })

  it('the same payment 40 times at once takes room once, and all are answered the same', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(150n) })] })
    const payment = auth.payment(token)
    const answers = await Promise.all(Array.from({ length: 40 }, () => auth.reserveAs(payment)))
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([JSON.stringify({ reserved: ['100 USD', '100 USD'] })])
    )
    expect(await countedUnder(itemIds[0])).toEqual({ debited: 100n, received: 100n })
  })

  it('the same payment at once around the end of an interval takes room in one interval only', async () => {
    const interval = 'R/2026-01-01T00:00:00Z/PT1S'
    for (let round = 0; round < 10; round += 1) {
      const { token, itemIds } = await auth.grant({
        access: [spending({ interval, debitAmount: usd(100n) })]
      })
      const payment = auth.payment(token)
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => {
          auth.clock.advanceSeconds(1)
          return auth.reserveAs(payment)
        })
      )
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
      expect(isReserved(answers[0] as Answer)).toBe(true)
      const windows = Object.entries(await auth.windows()).filter(([key]) =>
        key.startsWith(String(itemIds[0]))
      )
      expect(windows.map(([, [debited]]) => debited)).toEqual(['100'])
    }
  })

  it('payments in several receive assets never make the counters drift', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(3_000n) })] })
    const payments = Array.from({ length: 40 }, (_, index) =>
      auth.payment(token, { receive: index % 2 === 0 ? usd(100n) : eur(90n) })
    )
    const answers = await Promise.all(
      shuffled([...payments, ...payments]).map((payment) => auth.reserveAs(payment))
    )
    expect(answers.filter(isReserved)).toHaveLength(60)
    expect((await countedUnder(itemIds[0])).debited).toBe(3_000n)
  })
})

describe('a payment that waited for the first one of its interval', () => {
  it.each([
    ['over the debit limit', { debitAmount: usd(150n) }, {}],
    ['over the receive limit', { receiveAmount: usd(150n) }, {}],
    ['in another debit asset', {}, { debit: eur(1n) }]
  ])('finds the window as it is then: %s', async (_case, limits, options) => {
    const { token, itemIds } = await auth.grant({ access: [spending(limits)] })
    const first = auth.payment(token)
    // Stops the first when it has created the window, and the other one when it has found none.
    const holder = await auth.pool.connect()
    await holder.query('begin')
    await holder.query(
      `insert into reservation (payment_id, state, ended_at) values ($1, 'released', now())`,
      [first.paymentId]
    )
    const reserving = auth.reserveAs(first)
    await untilWaiting(1)
    const waiting = auth.reserve(token, options)
    await untilWaiting(2)
    await holder.query('rollback')
    holder.release()
    expect(await reserving).toEqual({ reserved: ['100 USD', '100 USD'] })
    expect(await waiting).toEqual({ refused: 'LIMIT_EXCEEDED' })
    expect(await countedUnder(itemIds[0])).toEqual({ debited: 100n, received: 100n })
  })
})

describe('payments sent four times each, while others of them are settled and released', () => {
  it('leave a counter that is exactly the sum of their reservations, and never above the limit', async () => {
    const { token, itemIds } = await auth.grant({
      access: [spending({ debitAmount: usd(4_000n), receiveAmount: usd(3_500n) })]
    })
    const payments = Array.from({ length: 100 }, (_, index) =>
      auth.payment(token, { debit: usd(BigInt(50 + index)), receive: usd(BigInt(40 + index)) })
    )
    const calls = shuffled(payments.flatMap((payment) => [payment, payment, payment, payment]))
    const ends: Promise<string>[] = []
    const answers = new Map<string, Set<string>>()
    await Promise.all(
      calls.map(async (payment) => {
        const answer = await auth.reserveAs(payment)
        const seen = answers.get(payment.paymentId) ?? new Set()
        answers.set(payment.paymentId, seen.add(JSON.stringify(answer)))
        if (isReserved(answer)) ends.push(endSomehow(payment))
      })
    )
    const codes = new Set(await Promise.all(ends))
    // A settlement and a release of one payment race on purpose: one wins, and the other is refused.
    expect([...codes].every((code) => ['OK', 'FAILED_PRECONDITION'].includes(code))).toBe(true)

    const reserved = await reservedUnder(itemIds[0])
    expect(await countedUnder(itemIds[0])).toEqual(reserved)
    expect(reserved.debited).toBeLessThanOrEqual(4_000n)
    expect(reserved.received).toBeLessThanOrEqual(3_500n)
    // Each payment got one answer, possibly followed by one that it has been released since.
    for (const seen of answers.values()) {
      seen.delete(JSON.stringify({ refused: 'RELEASED' }))
      expect(seen.size).toBeLessThanOrEqual(1)
    }
  })

  /** Ends a payment in a way that depends on its amount: settled in part or in full, released, left open, or both ends at once. */
  async function endSomehow({
    paymentId,
    debitAmount,
    receiveAmount
  }: contract.ReservationRequest): Promise<string> {
    const debited = BigInt(debitAmount?.value ?? 0)
    switch (Number(debited % 5n)) {
      case 4:
        return auth.settle(paymentId, debited, BigInt(receiveAmount?.value ?? 0))
      case 0:
        return auth.settle(paymentId, debited / 2n, debited / 3n)
      case 1:
        return auth.release(paymentId)
      case 2:
        return Promise.all([auth.release(paymentId), auth.settle(paymentId, 1n, 1n)]).then((codes) => {
          expect([...codes].sort()).not.toEqual(['FAILED_PRECONDITION', 'FAILED_PRECONDITION'])
          return codes[0]
        })
      default:
        return 'OK'
    }
  }
})

describe('a payment that is released while it is being reserved', () => {
  it('has no room in the end, and the one who reserved is told, or its room was given back', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(1_000_000n) })] })
    const counts: Record<string, number> = {}
    for (let round = 0; round < 60; round += 1) {
      const payments = Array.from({ length: 5 }, () => auth.payment(token))
      const answers = await Promise.all(
        shuffled(
          payments.flatMap((payment) => [
            () => auth.reserveAs(payment),
            () => auth.reserveAs(payment),
            () => auth.release(payment.paymentId)
          ])
        ).map((call) => call())
      )
      for (const answer of answers) {
        const name = JSON.stringify(typeof answer === 'string' ? answer : Object.keys(answer))
        counts[name] = (counts[name] ?? 0) + 1
      }
      for (const { paymentId, ...content } of payments) {
        expect(await auth.reserveAs({ paymentId, ...content })).toEqual({ refused: 'RELEASED' })
      }
    }
    expect(counts['"OK"']).toBe(300)
    expect(await countedUnder(itemIds[0])).toEqual({ debited: 0n, received: 0n })
  })

  it('waits neither way: the barrier that comes while the reservation is being written finds it, or stops it', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    await auth.reserve(token, { debit: usd(1n), receive: usd(1n) })
    const payment = auth.payment(token)
    // Locks the window, so that the reservation has begun and cannot end.
    const holder = await auth.pool.connect()
    await holder.query('begin')
    await holder.query('select 1 from limit_window where access_item_id = $1 for update', [itemIds[0]])
    const reserving = auth.reserveAs(payment)
    await untilWaiting(1)
    expect(await auth.release(payment.paymentId)).toBe('OK')
    await holder.query('commit')
    holder.release()
    expect(await reserving).toEqual({ refused: 'RELEASED' })
    expect(await countedUnder(itemIds[0])).toEqual({ debited: 1n, received: 1n })
  })

  it.each([
    ['settle', (id: string) => auth.settle(id, 60n, 50n), { debited: 61n, received: 51n }],
    ['release', (id: string) => auth.release(id), { debited: 1n, received: 1n }]
  ] as const)('a %s and a late twin never wait for each other', async (_name, end, counted) => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    await auth.reserve(token, { debit: usd(1n), receive: usd(1n) })
    const payment = auth.payment(token)
    const [first, second] = [await auth.pool.connect(), await auth.pool.connect()]
    const lockWindow = 'select 1 from limit_window where access_item_id = $1 for update'
    // In this order at the window: first holder, reservation, second holder, twin. The twin began before the reservation
    // was recorded, so it cannot see it.
    for (const holder of [first, second]) await holder.query('begin')
    await first.query(lockWindow, [itemIds[0]])
    const reservation = auth.reserveAs(payment)
    await untilWaiting(1)
    const secondHolds = second.query(lockWindow, [itemIds[0]])
    await untilWaiting(2)
    let twinEnded = false
    const twin = auth.reserveAs(payment).finally(() => {
      twinEnded = true
    })
    await untilWaiting(3)
    await first.query('commit')
    expect(await reservation).toHaveProperty('reserved')
    await secondHolds
    // The end queues behind the twin. If it had locked the reservation, each would wait for the other.
    const ending = end(payment.paymentId)
    // PostgreSQL lets the waiters for a changed row race for it: the twin may have won before the other lock.
    await untilWaiting(2, () => twinEnded)
    await second.query('commit')
    for (const holder of [first, second]) holder.release()
    const ended = await ending
    const late = await twin
    expect(ended).toBe('OK')
    expect([{ refused: 'RELEASED' }, await reservation]).toContainEqual(late)
    expect(await countedUnder(itemIds[0])).toEqual(counted)
  })
})

describe('two ends of one reservation that come at once', () => {
  it.each<[string, (id: string) => Promise<string>, (id: string) => Promise<string>, string[]]>([
    ['a settlement and a release', settleInPart, release, ['FAILED_PRECONDITION', 'OK']],
    ['a release and a settlement', release, settleInPart, ['FAILED_PRECONDITION', 'OK']],
    ['two different settlements', settleInPart, settleOtherwise, ['FAILED_PRECONDITION', 'OK']],
    ['the same settlement twice', settleInPart, settleInPart, ['OK', 'OK']],
    ['a release twice', release, release, ['OK', 'OK']]
  ])('have the effect of one: %s', async (_ends, first, second, codes) => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    await auth.reserve(token, { debit: usd(300n), receive: usd(300n) })
    const { paymentId, ...payment } = auth.payment(token)
    await auth.reserveAs({ paymentId, ...payment })
    // Both find the reservation open, and wait for the window.
    const holder = await auth.pool.connect()
    await holder.query('begin')
    await holder.query('select 1 from limit_window where access_item_id = $1 for update', [itemIds[0]])
    const ends = [first(paymentId)]
    await untilWaiting(1)
    ends.push(second(paymentId))
    await untilWaiting(2)
    await holder.query('commit')
    holder.release()
    expect((await Promise.all(ends)).sort()).toEqual(codes)
    expect(await countedUnder(itemIds[0])).toEqual(await reservedUnder(itemIds[0]))
  })

  function settleInPart(paymentId: string): Promise<string> {
    return auth.settle(paymentId, 60n, 50n)
  }

  function settleOtherwise(paymentId: string): Promise<string> {
    return auth.settle(paymentId, 40n, 30n)
  }

  function release(paymentId: string): Promise<string> {
    return auth.release(paymentId)
  }
})

describe('a token that is rotated while a payment is reserved with the old one and the new one', () => {
  it('reserves it once for all that ask, or refuses the old token and reserves with the new one', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { token, itemIds, ...grant } = await auth.grant({ access: [spending()] })
      const payment = auth.payment(token)
      const early = Array.from({ length: 4 }, () => auth.reserveAs(payment))
      const accessToken = await auth.rotate(grant)
      const late = Array.from({ length: 4 }, () => auth.reserveAs({ ...payment, accessToken }))
      const withNewToken = await Promise.all(late)
      expect(withNewToken).toEqual(late.map(() => ({ reserved: ['100 USD', '100 USD'] })))
      for (const answer of await Promise.all(early)) {
        expect([{ refused: 'INACTIVE_TOKEN' }, withNewToken[0]]).toContainEqual(answer)
      }
      expect(await auth.reserveAs(payment)).toEqual(withNewToken[0])
      expect(await countedUnder(itemIds[0])).toEqual({ debited: 100n, received: 100n })
    }
  })
})

describe('a grant that is revoked while payments are reserved', () => {
  it('lets nothing be reserved by a call that begins after it was revoked', async () => {
    const { token, grantId } = await auth.grant({ access: [spending()] })
    const before = Array.from({ length: 20 }, () => auth.reserve(token))
    await auth.prisma.grant.update({ where: { id: grantId }, data: { state: 'revoked' } })
    const after = await Promise.all(Array.from({ length: 20 }, () => auth.reserve(token)))
    await Promise.all(before)
    expect(after).toEqual(after.map(() => ({ refused: 'INACTIVE_TOKEN' })))
  })
})
