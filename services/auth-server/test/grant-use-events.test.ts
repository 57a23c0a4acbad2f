import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { events } from '@open-payments-server/proto'
import { recordStatements } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { publishEvents } from '../src/modules/events/index.js'
import {
  ALICE,
  eur,
  GrpcFixture,
  RECEIVER,
  spending,
  usd,
  type WrittenGrant
} from './support/grpc-fixture.js'

let auth: GrpcFixture
let client: events.EventServiceClient

beforeAll(async () => {
  auth = await GrpcFixture.start()
  const limits = { deadlineMs: 10_000, retriesMax: 0, messageBytesMax: 1_048_576 }
  client = createClient(events.EventServiceClient, { target: auth.address, ...limits })
})
afterAll(async () => {
  client.close()
  expect(await auth.violations()).toEqual([])
  await auth.stop()
})

interface Told {
  readonly type: string
  readonly data: { readonly state: string; readonly use: Record<string, unknown> } & Record<string, unknown>
}

/** What is told of a grant, in order. */
async function toldOf({ grantId }: WrittenGrant): Promise<Told[]> {
  await publishEvents(auth.prisma)
  const request = { afterCursor: '', types: [], pageSize: 1_000 }
  const page = await callUnary(client, 'listEvents', request, { idempotent: true })
  return page.events
    .filter(({ subject }) => subject.endsWith(grantId))
    .map(({ type, data }) => ({ type, data: JSON.parse(data) as Told['data'] }))
}

/** The short form of what is told: the type, what is spent, and the limits that are reached. */
const shorten = ({ type, data: { use } }: Told): string => {
  const { spentDebitAmount, limits } = use as { spentDebitAmount: { value: string }; limits?: string[] }
  return [type, spentDebitAmount.value, ...(limits ?? [])].join(' ')
}

const shortOf = async (grant: WrittenGrant): Promise<string[]> => (await toldOf(grant)).map(shorten)

const wire = (value: string, assetCode = 'USD') => ({ value, assetCode, assetScale: 2 })

describe('what a payment takes of its grant', () => {
  it('is told once, with the grant as operators see it, and what is spent and left of the item', async () => {
    const interval = 'R/2026-01-01T00:00:00Z/P1M'
    const reading = { type: 'outgoing-payment', actions: ['read'], identifier: ALICE } as const
    const limits = { interval, debitAmount: usd(1_000n), receiveAmount: eur(900n) }
    const grant = await auth.grant({ access: [reading, spending(limits)] })
    const payment = auth.payment(grant.token, { debit: usd(100n), receive: eur(90n) })
    await auth.reserveAs(payment)
    await auth.reserveAs(payment)
    expect(await auth.settle(payment.paymentId, 100n, 90n)).toBe('OK')
    const [told, ...others] = await toldOf(grant)
    expect(others).toEqual([])
    expect(told).toMatchObject({
      type: 'grant.used',
      data: {
        grantId: grant.grantId,
        state: 'issued',
        access: [{ actions: ['read'] }, { limits: { interval } }]
      }
    })
    expect(told?.data.use).toEqual({
      paymentId: payment.paymentId,
      walletAddress: ALICE,
      receiver: RECEIVER,
      accessIndex: 1,
      intervalStartsAt: '2026-01-01T00:00:00.000Z',
      intervalEndsAt: '2026-02-01T00:00:00.000Z',
      debitAmount: wire('100'),
      receiveAmount: wire('90', 'EUR'),
      spentDebitAmount: wire('100'),
      spentReceiveAmount: wire('90', 'EUR'),
      remainingDebitAmount: wire('900'),
      remainingReceiveAmount: wire('810', 'EUR')
    })
  })

  it('is not told of a payment that is refused, or was given up first', async () => {
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(50n) })] })
    await auth.reserve(grant.token)
    const givenUp = auth.payment(grant.token, { debit: usd(1n) })
    await auth.release(givenUp.paymentId)
    await auth.reserveAs(givenUp)
    expect(await toldOf(grant)).toEqual([])
  })

  it('is told in the order in which payments of one call are charged, each with what was spent up to it', async () => {
    const grant = await auth.grant({ access: [spending()] })
    const payments = [7n, 1n, 5n].map((value) => auth.payment(grant.token, { debit: usd(value) }))
    await auth.reserveMany(payments)
    expect(await shortOf(grant)).toEqual(['grant.used 7', 'grant.used 8', 'grant.used 13'])
  })

  it('has no total of what was received where payments are received in several assets, and no end without an interval', async () => {
    const grant = await auth.grant({ access: [spending()] })
    await auth.reserve(grant.token)
    await auth.reserve(grant.token, { receive: eur(1n) })
    const [first, second] = await toldOf(grant)
    expect(first?.data.use).toHaveProperty('spentReceiveAmount')
    expect(second?.data.use).not.toHaveProperty('spentReceiveAmount')
    expect(second?.data.use).not.toHaveProperty('intervalEndsAt')
    expect(second?.data.use).not.toHaveProperty('remainingDebitAmount')
  })

  it('is of one item, when another one has no room', async () => {
    const grant = await auth.grant({
      access: [spending({ debitAmount: usd(150n) }), spending({ debitAmount: usd(1_000n) })]
    })
    await auth.reserve(grant.token)
    await auth.reserve(grant.token)
    expect((await toldOf(grant)).map(({ data: { use } }) => [use.accessIndex, use.spentDebitAmount])).toEqual(
      [
        [0, wire('100')],
        [1, wire('100')]
      ]
    )
  })

  it('is told as it was, also after the grant ended', async () => {
    const grant = await auth.grant({ access: [spending()] })
    const before = await auth.database.query<{ at: Date }>(
      'select updated_at as at from grant_request where id = $1',
      [grant.grantId]
    )
    await auth.reserve(grant.token)
    await callUnary(auth.operator, 'revokeGrant', { grantId: grant.grantId }, { idempotent: true })
    const [used, ended] = await toldOf(grant)
    expect(ended).toMatchObject({ type: 'grant.ended', data: { state: 'revoked' } })
    expect(used).toMatchObject({
      type: 'grant.used',
      data: { state: 'issued', updatedAt: before[0]?.at.toISOString() }
    })
  })
})

describe('a limit', () => {
  it('is told when 80 % of it are spent, and when all of it is, once each', async () => {
    const grant = await auth.grant({ access: [spending({ debitAmount: usd(100n) })] })
    for (const value of [79n, 1n, 19n, 1n]) await auth.reserve(grant.token, { debit: usd(value) })
    expect(await shortOf(grant)).toEqual([
      'grant.used 79',
      'grant.used 80',
      'grant.threshold 80 debitAmount',
      'grant.used 99',
      'grant.used 100',
      'grant.exhausted 100 debitAmount'
    ])
  })

  it('is told both of what one payment of several of a call takes, and names each limit', async () => {
    const limits = { debitAmount: usd(100n), receiveAmount: usd(100n) }
    const grant = await auth.grant({ access: [spending(limits)] })
    const payments = [
      auth.payment(grant.token, { debit: usd(10n), receive: usd(1n) }),
      auth.payment(grant.token, { debit: usd(90n), receive: usd(80n) })
    ]
    await auth.reserveMany(payments)
    expect(await shortOf(grant)).toEqual([
      'grant.used 10',
      'grant.used 100',
      'grant.threshold 100 debitAmount receiveAmount',
      'grant.exhausted 100 debitAmount'
    ])
  })

  it('is told again when it sank below since, and in each interval', async () => {
    const interval = 'R/2026-01-01T00:00:00Z/P1M'
    const grant = await auth.grant({ access: [spending({ interval, debitAmount: usd(100n) })] })
    const first = auth.payment(grant.token)
    await auth.reserveAs(first)
    await auth.settle(first.paymentId, 10n, 10n)
    await auth.reserve(grant.token, { debit: usd(80n) })
    const january = auth.clock.now()
    auth.clock.set(Date.parse('2026-02-01T00:00:00.000Z'))
    await auth.database.query('update access_token set expires_at = $1', ['2027-01-01T00:00:00.000Z'])
    await auth.reserve(grant.token, { debit: usd(80n) })
    auth.clock.set(january)
    expect(await shortOf(grant)).toEqual([
      'grant.used 100',
      'grant.threshold 100 debitAmount',
      'grant.exhausted 100 debitAmount',
      'grant.used 90',
      'grant.threshold 90 debitAmount',
      'grant.used 80',
      'grant.threshold 80 debitAmount'
    ])
  })
})

it('telling costs no statement, and an event takes less than 300 bytes', async () => {
  const { token } = await auth.grant({ access: [spending()] })
  await auth.reserve(token)
  const record = recordStatements(auth.pool)
  await auth.reserve(token)
  expect(record.statements).toHaveLength(1)
  record.stop()
  const [row] = await auth.database.query<{ bytes: number }>(
    'select max(pg_column_size(event_outbox.*))::int as bytes from event_outbox'
  )
  expect(row?.bytes).toBeLessThan(300)
})
