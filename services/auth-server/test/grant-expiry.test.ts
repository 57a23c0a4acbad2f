import { callUnary } from '@open-payments-server/grpc-transport'
import { payableUntilMs } from '@open-payments-server/value-types/intervals'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { AccessItem } from '../src/domain/access.js'
import { accessAt, usableUntilMs } from '../src/domain/grant-expiry.js'
import { issueGrant } from '../src/features/continue-grant/issue-grant.js'
import { completeEvents } from '../src/features/tell-events/complete-events.js'
import { tellExpiringGrants } from '../src/features/tell-expiring-grants/tell-expiring-grants.js'
import { publishEvents } from '../src/modules/events/index.js'
import { ALICE, GrpcFixture, spending } from './support/grpc-fixture.js'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 0, 1)
const JANUARY = 'R1/2026-01-01T00:00:00Z/P1M'
const END_MS = Date.UTC(2026, 1, 1)

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
beforeEach(() => {
  auth.clock.set(START_MS)
})
afterAll(() => auth.stop())

/** Issues an approved grant, as its client's continuation does. */
async function issue(access: readonly AccessItem[]): Promise<string> {
  const { grantId } = await auth.grant({ access, state: 'approved' })
  await issueGrant(auth.prisma, { id: grantId, access }, undefined, auth.clock.now())
  return grantId
}

const tell = (): Promise<boolean> => tellExpiringGrants({ database: auth.prisma, clock: auth.clock })

/** What is told of a grant from its issue on. */
async function toldOf(grantId: string): Promise<unknown[]> {
  await publishEvents(auth.prisma)
  const rows = await auth.prisma.event.findMany({ where: { subjectId: grantId }, orderBy: { number: 'asc' } })
  const events = rows.map(({ number, id, type, subjectId, change, occurredAt }) => ({
    number,
    id,
    type,
    subjectId,
    change: (change ?? undefined) as Record<string, unknown> | undefined,
    occurredAtMs: occurredAt.getTime(),
    traceParent: undefined
  }))
  const addresses = { continueUri: (id: string) => `https://auth.example/continue/${id}` }
  const contents = await completeEvents(events, { database: auth.prisma, addresses })
  return events.map(({ type }, index) => ({ type, data: contents[index]?.data }))
}

const ISSUED = expect.objectContaining({ type: 'token.issued' })
const EXPIRING = {
  type: 'grant.expiring',
  data: expect.objectContaining({ state: 'issued', endsAt: new Date(END_MS).toISOString() })
}

const remembered = async (): Promise<number> => auth.prisma.grantExpiry.count()

describe('a grant under which nothing can be paid soon', () => {
  it('is told a day before the end of its last interval, once', async () => {
    const grantId = await issue([spending({ interval: JANUARY })])
    auth.clock.set(END_MS - DAY_MS - 1)
    await tell()
    expect(await toldOf(grantId)).toEqual([ISSUED])
    auth.clock.set(END_MS - DAY_MS)
    await Promise.all([tell(), tell(), tell()])
    await tell()
    expect(await toldOf(grantId)).toEqual([ISSUED, EXPIRING])
    expect(await remembered()).toBe(0)
  })

  it('is told when it is issued, if that is less than a day before', async () => {
    auth.clock.set(END_MS - 1)
    const grantId = await issue([spending({ interval: JANUARY })])
    await tell()
    expect(await toldOf(grantId)).toEqual([ISSUED, EXPIRING])
  })

  it('is not told once it is over, or was ended, and is forgotten', async () => {
    const over = await issue([spending({ interval: JANUARY })])
    const ended = await issue([spending({ interval: 'R1/2026-01-01T00:00:00Z/P1Y' })])
    await callUnary(auth.operator, 'revokeGrant', { grantId: ended }, { idempotent: true })
    auth.clock.set(Date.UTC(2026, 11, 31, 12))
    await tell()
    expect(await toldOf(over)).toEqual([ISSUED])
    expect(await toldOf(ended)).toEqual([ISSUED, expect.objectContaining({ type: 'grant.ended' })])
    expect(await remembered()).toBe(0)
  })

  it('is remembered only if it was issued, and has an end', async () => {
    await issue([spending({ interval: 'R/2026-01-01T00:00:00Z/P1M' })])
    await auth.grant({ access: [spending({ interval: JANUARY })], state: 'approved' })
    expect(await remembered()).toBe(0)
  })
})

it.each([
  [
    'the end of the last interval of the last item to pay',
    [JANUARY, 'R2/2026-01-01T00:00:00Z/P1M'],
    Date.UTC(2026, 2, 1)
  ],
  ['never, with one item that goes on for ever', [JANUARY, 'R/2026-01-01T00:00:00Z/P1M'], undefined],
  ['never, with one item without an interval', [JANUARY, undefined], undefined],
  ['never, with nothing to pay', [], undefined]
])('a grant can be used until %s', (_what, intervals, endMs) => {
  const reading = { type: 'outgoing-payment', actions: ['read'], identifier: ALICE } as const
  const items = intervals.map((interval) => spending(interval === undefined ? {} : { interval }))
  expect(payableUntilMs([reading, ...items])).toBe(endMs)
})

describe('what a grant allows once nothing can be paid under it', () => {
  const paying = (actions: readonly string[], interval?: string): AccessItem => ({
    ...spending(interval === undefined ? {} : { interval }),
    actions
  })
  const quotes = (actions: readonly string[]): AccessItem => ({ type: 'quote', actions })
  const ALL = ['create', 'read-all', 'list-all']

  it.each<[string, AccessItem[], (readonly string[])[]]>([
    ['is all but what shows what others made', [paying([...ALL, 'read'], JANUARY)], [['create', 'read']]],
    [
      'has no item of which nothing is left',
      [paying(['create'], JANUARY), quotes(['read-all']), paying(['list-all'])],
      [['create']]
    ],
    [
      'is everything where one payment goes on',
      [paying(ALL, JANUARY), paying(['create'])],
      [ALL, ['create']]
    ],
    ['is everything where nothing was to be paid', [paying(['read-all'], JANUARY)], [['read-all']]]
  ])('%s', (_what, access, left) => {
    expect(accessAt(access, END_MS - 1)).toBe(access)
    expect(accessAt(access, END_MS).map(({ actions }) => actions)).toEqual(left)
  })

  it.each<[string, AccessItem[], number | undefined]>([
    ['nothing', [paying(ALL, JANUARY), quotes(['read-all'])], END_MS],
    ['what it made', [paying(['create', 'read'], JANUARY)], undefined],
    ['what it may make', [paying(['create'], JANUARY), quotes(['create'])], undefined],
    ['payments', [paying(['create'])], undefined]
  ])('can be used until then, or without end: %s is left', (_what, access, endMs) => {
    expect(usableUntilMs(access)).toBe(endMs)
  })
})
