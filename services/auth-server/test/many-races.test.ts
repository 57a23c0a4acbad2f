import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { auth as contract } from '@open-payments-server/proto'
import { recordStatements } from '@open-payments-server/testing'
import {
  type Answer,
  eur,
  GrpcFixture,
  refusalOf,
  release,
  settlement as settle,
  spending,
  usd
} from './support/grpc-fixture.js'

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

const isReserved = (answer: Answer | undefined): boolean => answer !== undefined && 'reserved' in answer
const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** The same items, rotated, and reversed every second time, so that no two batches have the same order. */
function turned<Item>(items: readonly Item[], by: number): Item[] {
  const order = [...items.slice(by % items.length), ...items.slice(0, by % items.length)]
  return by % 2 === 0 ? order : order.reverse()
}

/** Waits until this many statements wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (;;) {
    const rows = await auth.database.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    )
    if (rows.length >= count) return
    // Polling without a pause would take CPU time from the statements.
    await delay(5)
  }
}

const reserveMany = (requests: contract.ReservationRequest[]): Promise<Answer[]> => auth.reserveMany(requests)
const endMany = (ends: contract.ReservationEnd[]): Promise<string[]> => auth.endMany(ends)

describe('reservations that are asked for in one call', () => {
  it('are one statement, and each is told what was spent with those before it', async () => {
    const grants = await Promise.all(
      times(2, () => auth.grant({ access: [spending({ debitAmount: usd(900n) })] }))
    )
    await Promise.all(grants.map(({ token }) => auth.introspect(token)))
    const requests = times(8, (index) =>
      auth.payment(grants[index % 2]?.token ?? '', { debit: usd(100n + BigInt(index)), receive: eur(10n) })
    )
    const record = recordStatements(auth.pool)
    expect(await reserveMany(requests)).toEqual(
      ['100 USD', '101 USD', '202 USD', '204 USD', '306 USD', '309 USD', '412 USD', '416 USD'].map(
        (debited, index) => ({
          reserved: [debited, `${String(10 * (Math.floor(index / 2) + 1))} EUR`]
        })
      )
    )
    expect(record.statements).toHaveLength(1)
    record.stop()
    expect(await reserveMany([...requests].reverse())).toEqual(
      (await Promise.all(requests.map((request) => auth.reserveAs(request)))).reverse()
    )
  })

  it('are taken in their order while there is room, those without any not hindering the others', async () => {
    const { token } = await auth.grant({ access: [spending({ debitAmount: usd(300n) })] })
    const other = await auth.grant({ access: [spending({ debitAmount: usd(300n) })] })
    const values = [200n, 301n, 150n, 60n, 50n, 40n]
    const requests = values.map((value) => auth.payment(token, { debit: usd(value) }))
    const LIMIT_EXCEEDED = { refused: 'LIMIT_EXCEEDED' }
    await auth.reserve(other.token)
    const further = [150n, 60n].map((value) => auth.payment(other.token, { debit: usd(value) }))
    expect(await reserveMany([...requests, ...further])).toEqual([
      { reserved: ['200 USD', '100 USD'] },
      LIMIT_EXCEEDED,
      LIMIT_EXCEEDED,
      { reserved: ['260 USD', '200 USD'] },
      LIMIT_EXCEEDED,
      { reserved: ['300 USD', '300 USD'] },
      { reserved: ['250 USD', '200 USD'] },
      LIMIT_EXCEEDED
    ])
  })

  it.each([
    ['debit', { debitAmount: usd(250n) }],
    ['receive', { receiveAmount: usd(250n) }]
  ])('that are the first of their interval are within the %s limit together', async (_limit, limits) => {
    const { token } = await auth.grant({ access: [spending(limits)] })
    expect(await reserveMany(times(3, () => auth.payment(token)))).toEqual([
      { reserved: ['100 USD', '100 USD'] },
      { reserved: ['200 USD', '200 USD'] },
      { refused: 'LIMIT_EXCEEDED' }
    ])
  })

  it('in several receive assets are each told what its own asset received', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const reserveIn = (assets: readonly (typeof usd)[]): Promise<Answer[]> =>
      reserveMany(assets.map((asset) => auth.payment(token, { receive: asset(90n) })))
    expect(await reserveIn([usd, eur, usd, eur])).toEqual([
      { reserved: ['100 USD', '90 USD'] },
      { reserved: ['200 USD', '90 EUR'] },
      { reserved: ['300 USD', '180 USD'] },
      { reserved: ['400 USD', '180 EUR'] }
    ])
    expect(await reserveIn([eur, eur])).toEqual([
      { reserved: ['500 USD', '270 EUR'] },
      { reserved: ['600 USD', '360 EUR'] }
    ])
  })

  it('are told by their place and field when they are malformed, and the others are done', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const good = (): contract.ReservationRequest => auth.payment(token)
    const invalid = (field: string): Answer => ({ error: 'INVALID_ARGUMENT', field })
    const noAmount = { ...good(), debitAmount: undefined }
    const badAmount = { ...good(), receiveAmount: { value: '01', assetCode: 'USD', assetScale: 2 } }
    expect(
      await reserveMany([
        { ...good(), paymentId: 'x' },
        good(),
        noAmount,
        badAmount,
        { ...good(), accessToken: '' },
        good()
      ])
    ).toEqual([
      invalid('payment_id'),
      { reserved: ['100 USD', '100 USD'] },
      invalid('debit_amount'),
      invalid('receive_amount.value'),
      invalid('access_token'),
      { reserved: ['200 USD', '200 USD'] }
    ])
    expect(
      await endMany([release('x'), { paymentId: auth.newId(), end: undefined }, release(auth.newId())])
    ).toEqual(['INVALID_ARGUMENT payment_id', 'INVALID_ARGUMENT end', 'OK'])
  })

  it('are at most 100, and nothing of a call for more is done', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending()] })
    const requests = times(101, () => auth.payment(token))
    const tooMany = (field: string): object => ({ error: 'INVALID_ARGUMENT', field })
    expect(await reserveMany(requests).catch(refusalOf)).toEqual(tooMany('reservations'))
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toBeUndefined()
    const all = await reserveMany(requests.slice(1))
    expect(all.at(-1)).toEqual({ reserved: ['10000 USD', '10000 USD'] })
    const ends = requests.map(({ paymentId }) => release(paymentId))
    expect(await endMany(ends).catch(refusalOf)).toEqual(tooMany('ends'))
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['10000', '10000'])
    expect(await endMany(ends.slice(1))).toEqual(times(100, () => 'OK'))
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['0', '0'])
    expect(await reserveMany([])).toEqual([])
  })
})

describe('reservations that are asked for at the same time, in calls of their own', () => {
  it('share statements, and each is told another total', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    await auth.introspect(token)
    const record = recordStatements(auth.pool)
    const calls = [
      ...times(40, () => auth.reserve(token)),
      ...times(4, () => reserveMany(times(10, () => auth.payment(token))))
    ]
    const answers = (await Promise.all(calls)).flat()
    expect(record.statements.length).toBeLessThan(40)
    record.stop()
    const totals = answers.flatMap((answer) => ('reserved' in answer ? [answer.reserved[0]] : []))
    expect(totals.sort()).toEqual(times(80, (index) => `${String(index + 1)}00 USD`).sort())
  })

  it('are each told of their own when a payment is asked for in several of them', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending({ debitAmount: usd(500n) })] })
    const payment = auth.payment(token)
    const other = { ...payment, receiver: `${payment.receiver}0` }
    const answers = (
      await Promise.all([
        auth.reserve(token),
        ...times(10, () => auth.reserveAs(payment)),
        ...times(3, () => reserveMany([payment, auth.payment(token)])),
        auth.reserveAs({ ...payment, paymentId: auth.newId(), debitAmount: undefined })
      ])
    ).flat()
    expect(new Set(answers.slice(1, 11).map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers.at(-1)).toEqual({ error: 'INVALID_ARGUMENT', field: 'debit_amount' })
    expect(await auth.reserveAs(other)).toEqual({ error: 'ALREADY_EXISTS', field: 'payment_id' })
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(['500', '500'])
  })
})

describe('reservations that are ended in one call', () => {
  it('are one statement, whichever way they end, and again the same', async () => {
    const grants = await Promise.all(
      times(2, () => auth.grant({ access: [spending({ debitAmount: usd(900n) })] }))
    )
    const requests = times(6, (index) => auth.payment(grants[index % 2]?.token ?? ''))
    await reserveMany(requests)
    const ends = requests.map(({ paymentId }, index) =>
      index < 2 ? release(paymentId) : settle(paymentId, 100n - BigInt(index), 100n)
    )
    const record = recordStatements(auth.pool)
    expect(await endMany(ends)).toEqual(times(6, () => 'OK'))
    expect(record.statements).toHaveLength(1)
    record.stop()
    expect(await endMany(ends.toReversed())).toEqual(times(6, () => 'OK'))
    const windows = await auth.windows()
    expect(grants.map(({ itemIds }) => windows[`${String(itemIds[0])}/0`])).toEqual([
      ['194', '200'],
      ['192', '200']
    ])
  })

  it('do not hinder each other: each is told of its own', async () => {
    const { token } = await auth.grant({ access: [spending()] })
    const requests = times(5, () => auth.payment(token))
    const [open, settled, released, small, again] = requests.map(({ paymentId }) => paymentId) as [
      string,
      string,
      string,
      string,
      string
    ]
    await reserveMany(requests)
    await endMany([settle(settled, 100n, 100n), release(released)])
    expect(
      await endMany([
        settle(auth.newId(), 1n, 1n),
        settle(settled, 99n, 100n),
        settle(open, 1n, 2n),
        release(settled),
        settle(released, 1n, 1n),
        settle(small, 101n, 1n),
        settle(small, 1n, 101n),
        settle(again, 7n, 7n),
        settle(again, 7n, 7n),
        release(again)
      ])
    ).toEqual([
      'NOT_FOUND',
      'FAILED_PRECONDITION',
      'OK',
      'FAILED_PRECONDITION',
      'FAILED_PRECONDITION',
      'INVALID_ARGUMENT settled_debit_value',
      'INVALID_ARGUMENT settled_receive_value',
      'OK',
      'OK',
      'FAILED_PRECONDITION'
    ])
  })
})

describe('the order in which a call for many locks', () => {
  const COUNT = 7
  const MIDDLE = 3

  /** Grants, a payment for each, and the keys of their windows: all in the order of the windows. */
  async function begin(): Promise<{ itemIds: string[]; requests: contract.ReservationRequest[] }> {
    const grants = await Promise.all(times(COUNT, () => auth.grant({ access: [spending()] })))
    grants.sort((a, b) => (String(a.itemIds[0]) < String(b.itemIds[0]) ? -1 : 1))
    for (const { token } of grants) await auth.reserve(token)
    return {
      itemIds: grants.map(({ itemIds }) => String(itemIds[0])),
      requests: grants.map(({ token }) => auth.payment(token))
    }
  }

  /** Runs a statement that has to wait for a lock, and reads what it has locked meanwhile. */
  async function whileLocked(
    lock: readonly [statement: string, key: string | undefined],
    act: () => Promise<unknown>,
    look: () => Promise<void>
  ): Promise<void> {
    const holder = await auth.pool.connect()
    await holder.query('begin')
    await holder.query(lock[0], [lock[1]])
    const acting = act()
    try {
      await untilWaiting(1)
      await look()
    } finally {
      await holder.query('rollback')
      holder.release()
      await acting
    }
  }

  /** The rows that are not locked. */
  async function freeAmong(table: string, column: string, keys: readonly string[]): Promise<string[]> {
    const rows = await auth.database.query<{ key: string }>(
      `select ${column} as key from ${table} where ${column} = any($1) order by 1 for update skip locked`,
      [keys]
    )
    return rows.map(({ key }) => key)
  }

  const lockWindow = 'select 1 from limit_window where access_item_id = $1 for update'
  const freeWindows = (itemIds: readonly string[]): Promise<string[]> =>
    freeAmong('limit_window', 'access_item_id', itemIds)

  it('is that of its windows, to reserve', async () => {
    for (const turn of times(4, (index) => index)) {
      const { itemIds, requests } = await begin()
      await whileLocked(
        [lockWindow, itemIds[MIDDLE]],
        () => reserveMany(turned(requests, turn)),
        async () => {
          expect(await freeWindows(itemIds)).toEqual(itemIds.slice(MIDDLE + 1))
        }
      )
    }
  })

  it('is that of its windows, and then that of its payments, to end', async () => {
    for (const turn of times(4, (index) => index)) {
      const { itemIds, requests } = await begin()
      const paymentIds = requests.map(({ paymentId }) => paymentId).sort()
      const endAll = async (): Promise<void> => {
        await endMany(
          turned(paymentIds, turn).map((id, index) => (index % 2 === 0 ? release(id) : settle(id, 1n, 1n)))
        )
      }
      const freePayments = (): Promise<string[]> => freeAmong('reservation', 'payment_id', paymentIds)
      await reserveMany(requests)
      await whileLocked([lockWindow, itemIds[MIDDLE]], endAll, async () => {
        expect(await freeWindows(itemIds)).toEqual(itemIds.slice(MIDDLE + 1))
        expect(await freePayments()).toEqual(paymentIds)
      })

      await reserveMany(
        requests.map((request, index) => {
          paymentIds[index] = auth.newId()
          return { ...request, paymentId: paymentIds[index] }
        })
      )
      paymentIds.sort()
      await whileLocked(
        ['select 1 from reservation where payment_id = $1 for update', paymentIds[MIDDLE]],
        endAll,
        async () => {
          expect(await freeWindows(itemIds)).toEqual([])
          expect(await freePayments()).toEqual(paymentIds.slice(MIDDLE + 1))
        }
      )
    }
  })

  it('is that of its payments once it has its windows, to reserve', async () => {
    const { itemIds, requests } = await begin()
    const paymentIds = requests.map(({ paymentId }) => paymentId).sort()
    const asked = itemIds.map((_id, index) => ({
      ...requests[(index * 3) % COUNT],
      paymentId: paymentIds[index]
    })) as contract.ReservationRequest[]
    const bar = `insert into reservation (payment_id, state, ended_at) values ($1, 'released', now())`
    const isFree = async (paymentId: string): Promise<boolean> => {
      const client = await auth.pool.connect()
      try {
        await client.query(`begin; set local lock_timeout = '50ms'`)
        return await client.query(bar, [paymentId]).then(
          () => true,
          () => false
        )
      } finally {
        await client.query('rollback')
        client.release()
      }
    }
    await whileLocked(
      [bar, paymentIds[MIDDLE]],
      () => reserveMany(turned(asked, 5)),
      async () => {
        expect(await freeWindows(itemIds)).toEqual([])
        const free = []
        for (const paymentId of paymentIds) if (await isFree(paymentId)) free.push(paymentId)
        expect(free).toEqual(paymentIds.slice(MIDDLE + 1))
      }
    )
  })
})

describe('calls for many that race', () => {
  it('over the same windows in other orders, with ends among them, wait in one order and stay within the limits', async () => {
    const limit = 2_000n
    const grants = await Promise.all(
      times(8, () => auth.grant({ access: [spending({ debitAmount: usd(limit) })] }))
    )
    const answers = await Promise.all(
      times(12, async (round) => {
        const requests = turned(grants, round).flatMap(({ token }) =>
          times(3, (index) => auth.payment(token, { debit: usd(90n + BigInt(index)) }))
        )
        const alone = auth.payment(grants[round % 8]?.token ?? '')
        const [answered] = await Promise.all([reserveMany(requests), auth.reserveAs(alone)])
        const reserved = requests.filter((_request, index) => isReserved(answered[index]))
        const ends = turned(reserved, round + 1).map(({ paymentId }, index) =>
          index % 3 === 0 ? release(paymentId) : settle(paymentId, BigInt(index), 3n)
        )
        const [ended] = await Promise.all([
          endMany(ends),
          endMany(ends.slice(0, 5)),
          ...ends.slice(5, 8).map((end) => auth.endAs(end))
        ])
        expect(ended).toEqual(ends.map(() => 'OK'))
        return answered
      })
    )
    expect(answers.flat().filter(isReserved).length).toBeGreaterThan(100)
  })

  it('for the same payments take room once, and are answered the same', async () => {
    const grants = await Promise.all(
      times(5, () => auth.grant({ access: [spending({ debitAmount: usd(350n) })] }))
    )
    const requests = grants.flatMap(({ token }) => times(4, () => auth.payment(token)))
    const rounds = await Promise.all(
      times(10, async (round) => {
        const asked = turned(requests, round)
        const answers = await reserveMany(asked)
        return new Map(asked.map(({ paymentId }, index) => [paymentId, JSON.stringify(answers[index])]))
      })
    )
    for (const { paymentId } of requests) {
      expect(new Set(rounds.map((answers) => answers.get(paymentId))).size).toBe(1)
    }
    const windows = await auth.windows()
    expect(grants.map(({ itemIds }) => windows[`${String(itemIds[0])}/0`])).toEqual(
      grants.map(() => ['300', '300'])
    )
  })

  it('for the same ids under other grants give each id to one of them', async () => {
    const [one, two] = await Promise.all([0, 1].map(() => auth.grant({ access: [spending()] })))
    const paymentIds = times(20, () => auth.newId())
    const ask = (token: string | undefined, ids: readonly string[]): Promise<Answer[]> =>
      reserveMany(ids.map((paymentId) => auth.payment(token ?? '', { paymentId })))
    const [ofOne, ofTwo] = await Promise.all([
      ask(one?.token, paymentIds),
      ask(two?.token, paymentIds.toReversed())
    ])
    const pairs = paymentIds.map((_id, index) => [ofOne?.[index], ofTwo?.toReversed()[index]])
    for (const pair of pairs) {
      expect(pair.filter(isReserved)).toHaveLength(1)
      expect(pair).toContainEqual({ error: 'ALREADY_EXISTS', field: 'payment_id' })
    }
  })

  it('to end the same payments otherwise end each of them once', async () => {
    const { token, itemIds } = await auth.grant({ access: [spending()] })
    const requests = times(3, () => auth.payment(token))
    await reserveMany(requests)
    // Both find the reservations open, and wait for the window.
    const holder = await auth.pool.connect()
    await holder.query('begin')
    await holder.query('select 1 from limit_window where access_item_id = $1 for update', [itemIds[0]])
    const settling = endMany(requests.map(({ paymentId }) => settle(paymentId, 60n, 50n)))
    await untilWaiting(1)
    const releasing = endMany(requests.map(({ paymentId }) => release(paymentId)))
    await untilWaiting(2)
    await holder.query('commit')
    holder.release()
    const ended = await Promise.all([settling, releasing])
    expect(ended.toSorted()).toEqual(['FAILED_PRECONDITION', 'OK'].map((code) => times(3, () => code)))
    const counted = ended[0][0] === 'OK' ? ['180', '150'] : ['0', '0']
    expect((await auth.windows())[`${String(itemIds[0])}/0`]).toEqual(counted)
  })

  it('to reserve and to release the same payments leave no room taken', async () => {
    const grants = await Promise.all(times(4, () => auth.grant({ access: [spending()] })))
    const requests = times(24, (index) => auth.payment(grants[index % 4]?.token ?? ''))
    await Promise.all([
      reserveMany(requests),
      reserveMany(requests.toReversed()),
      endMany(turned(requests, 7).map(({ paymentId }) => release(paymentId)))
    ])
    expect(await reserveMany(requests)).toEqual(requests.map(() => ({ refused: 'RELEASED' })))
    const windows = await auth.windows()
    for (const { itemIds } of grants) {
      expect([['0', '0'], undefined]).toContainEqual(windows[`${String(itemIds[0])}/0`])
    }
  })
})
