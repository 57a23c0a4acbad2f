import { randomUUID } from 'node:crypto'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { createLogger, type ItemResult } from '@open-payments-server/runtime'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { AuthServerUnavailable, type GrantLimits, type ReservationRequest } from '../src/domain/ports.js'
import { type AuthServerConnection, connectAuthServer } from '../src/grpc/auth-server/connection.js'
import { createGrantLimits } from '../src/grpc/auth-server/grant-limits.js'
import { type FakeAuthServer, startFakeAuthServer } from './support/fake-auth-server.js'
import { FakeGrantLimits } from './support/fake-grant-limits.js'

const USD = { code: 'USD', scale: 2 }
const MANY = 20

let fake: FakeGrantLimits
let server: FakeAuthServer
let connection: AuthServerConnection
let limits: GrantLimits

beforeAll(async () => {
  const logger = createLogger({ service: 'test', level: 'silent' })
  // Its data is cleared for each test; its server stays.
  const behind: FakeGrantLimits = new FakeGrantLimits()
  fake = behind
  server = await startFakeAuthServer({ logger, services: behind.services(logger) })
  connection = connectAuthServer({
    target: `127.0.0.1:${String(server.port)}`,
    deadlineMs: 5_000,
    messageBytesMax: 1_048_576
  })
})
beforeEach(() => {
  fake.reservations.clear()
  fake.debitLimits.clear()
  fake.before = undefined
  Object.assign(fake.asked, { reserve: 0, settle: 0, release: 0 })
  Object.assign(fake.calls, { reserve: 0, end: 0 })
  limits = createGrantLimits(connection.grantLimits, { deadlineMs: 5_000 })
})
afterAll(async () => {
  connection.close()
  await server.stop()
})

const request = (value: number | bigint, more: Partial<ReservationRequest> = {}): ReservationRequest => ({
  paymentId: randomUUID(),
  accessToken: 'token',
  walletAddress: 'https://wallet.example/alice',
  receiver: 'https://wallet.example/incoming-payments/1',
  debitAmount: { value: BigInt(value), asset: USD },
  receiveAmount: { value: BigInt(value), asset: USD },
  requestHash: Buffer.alloc(32),
  ...more
})
const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index))
const reserveAll = (requests: readonly ReservationRequest[]) =>
  Promise.allSettled(requests.map((one) => limits.reserve(one)))
const valuesOf = (results: readonly ItemResult<unknown>[]): unknown[] =>
  results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason))

describe('reservations that are asked for at the same time', () => {
  it('are asked for together, and each is told its own', async () => {
    fake.debitLimits.set('poor', 1n)
    const taken = request(5)
    await limits.reserve(taken)
    expect(fake.calls.reserve).toBe(1)
    const requests = [
      ...times(MANY, (index) => request(10, { accessToken: `token ${String(index)}` })),
      request(2, { accessToken: 'poor' }),
      { ...taken, debitAmount: { value: 6n, asset: USD } },
      { ...taken, requestHash: Buffer.alloc(32, 1) }
    ]
    const answers = valuesOf(await reserveAll(requests))
    expect(answers.slice(0, MANY)).toEqual(
      times(MANY, () =>
        expect.objectContaining({ kind: 'reserved', spentDebitAmount: { value: 10n, asset: USD } })
      )
    )
    expect(answers.slice(MANY)).toEqual([
      {
        kind: 'refused',
        reason: 'limit-exceeded',
        remaining: {
          debitAmount: { value: 1n, asset: USD },
          receiveAmount: undefined,
          nextIntervalAtMs: undefined
        },
        refusedBy: { accessIndex: 0, limits: ['debitAmount'] }
      },
      { kind: 'other-amounts' },
      { kind: 'mismatch' }
    ])
    expect(fake.asked.reserve).toBe(1 + requests.length)
    expect(fake.calls.reserve).toBe(2)
  })

  it('fail alone for what is wrong with one, and together when the auth server does not answer', async () => {
    const broken = request(1)
    fake.before = (call) => {
      if (call === 'reserve' && fake.asked.reserve === 4) {
        throw new RpcError({ code: status.INVALID_ARGUMENT, message: 'no' })
      }
    }
    const results = await reserveAll([request(1), request(1), request(1), broken, request(1)])
    const failed = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : []
    )
    expect(failed).toEqual([expect.objectContaining({ code: status.INVALID_ARGUMENT })])

    fake.before = () => {
      throw new RpcError({ code: status.UNAVAILABLE, message: 'away' })
    }
    const away = await reserveAll(times(5, () => request(1)))
    expect(valuesOf(away)).toEqual(times(5, () => expect.any(AuthServerUnavailable)))
  })

  it('are given up after the time that one alone would have', async () => {
    limits = createGrantLimits(connection.grantLimits, { deadlineMs: 300 })
    let letGo: () => void = () => undefined
    fake.before = () =>
      new Promise((resolve) => {
        letGo = resolve
      })
    const results = await reserveAll(times(MANY, () => request(1)))
    letGo()
    expect(valuesOf(results)).toEqual(times(MANY, () => expect.any(AuthServerUnavailable)))
  })
})

describe('reservations that end together', () => {
  it('are ended with one call, and each is told its own', async () => {
    const [settled, released, ended] = [request(10), request(10), request(10)]
    await reserveAll([settled, released, ended])
    await limits.end([{ kind: 'release', paymentId: ended.paymentId }])
    expect(fake.calls.end).toBe(1)
    const results = await limits.end([
      { kind: 'settle', paymentId: settled.paymentId, settledDebitValue: 7n, settledReceiveValue: 6n },
      { kind: 'release', paymentId: released.paymentId },
      { kind: 'settle', paymentId: ended.paymentId, settledDebitValue: 1n, settledReceiveValue: 1n },
      { kind: 'settle', paymentId: randomUUID(), settledDebitValue: 1n, settledReceiveValue: 1n }
    ])
    expect(valuesOf(results)).toEqual(['ended', 'ended', 'ended-otherwise', 'not-found'])
    expect(fake.calls.end).toBe(2)
    expect(fake.reservations.get(settled.paymentId)).toMatchObject({
      state: 'settled',
      debited: 7n,
      received: 6n
    })
    expect(fake.reservations.get(released.paymentId)).toMatchObject({ state: 'released' })
  })

  it('are all told when the auth server does not answer', async () => {
    fake.before = () => {
      throw new RpcError({ code: status.UNAVAILABLE, message: 'away' })
    }
    const ends = times(3, () => ({ kind: 'release' as const, paymentId: randomUUID() }))
    expect(valuesOf(await limits.end(ends))).toEqual(times(3, () => expect.any(AuthServerUnavailable)))
  })
})
