import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Answer } from '@open-payments-server/testing'
import {
  ALICE,
  PUBLIC_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const FIRST_KEY = 'the-first-master-key-of-shared-secrets'
const SECOND_KEY = 'the-second-master-key-of-shared-secrets'
const ACCESS = [{ type: 'incoming-payment' as const, actions: ['create', 'read'], identifier: ALICE }]
const ORDER = { body: { walletAddress: ALICE }, headers: { 'idempotency-key': 'order-1' } }

/** One database, served with the first key, then with the second made known, then with it in use, then without the first. */
let before: TestResourceServer
let prepared: TestResourceServer
let during: TestResourceServer
let after: TestResourceServer

beforeAll(async () => {
  before = await startTestResourceServer({ settings: { SHARED_SECRET_KEY: FIRST_KEY } })
  const start = (settings: Record<string, string>) =>
    startTestResourceServer({ settings: { DATABASE_URL: before.database.url, ...settings } })
  prepared = await start({ SHARED_SECRET_KEY: FIRST_KEY, SHARED_SECRET_KEYS_OTHER: SECOND_KEY })
  during = await start({ SHARED_SECRET_KEY: SECOND_KEY, SHARED_SECRET_KEYS_OTHER: FIRST_KEY })
  after = await start({ SHARED_SECRET_KEY: SECOND_KEY })
})

afterAll(async () => {
  await Promise.all([prepared.stop(), during.stop(), after.stop()])
  await before.stop()
})

const shopAt = (service: TestResourceServer): TestClient => service.createClient('shop')
const methodsOf = (answer: Answer): unknown => answer.at('methods')

async function create(service: TestResourceServer): Promise<Answer> {
  const answer = await shopAt(service).request(ACCESS, 'POST', '/incoming-payments', {
    body: { walletAddress: ALICE }
  })
  expect(answer.status).toBe(201)
  return answer
}

function read(service: TestResourceServer, payment: Answer): Promise<Answer> {
  return shopAt(service).request(ACCESS, 'GET', payment.textAt('id').slice(PUBLIC_URL.length))
}

describe('a new key of shared secrets', () => {
  it('leaves payments of the old key with their secrets while the old key is kept', async () => {
    const old = await create(before)
    expect(methodsOf(await read(during, old))).toEqual(methodsOf(old))
  })

  it('is known to replicas that do not use it yet, once they were told', async () => {
    const created = await create(during)
    expect(methodsOf(created)).toHaveLength(1)
    expect(methodsOf(await read(prepared, created))).toEqual(methodsOf(created))
  })

  it('makes the secrets of new payments, which stay when the old key is gone', async () => {
    const created = await create(during)
    expect(methodsOf(created)).toHaveLength(1)
    expect(methodsOf(await read(after, created))).toEqual(methodsOf(created))
    // The old key would give the same payment another secret, so it is not used.
    expect(methodsOf(await read(before, created))).toEqual([])
  })

  it('offers no way to pay a payment whose key is gone, rather than a wrong secret', async () => {
    const old = await create(before)
    const answer = await read(after, old)
    expect(answer.status).toBe(200)
    expect(methodsOf(answer)).toEqual([])
  })

  it('does not make a repeated request a new one', async () => {
    const first = await shopAt(before).request(ACCESS, 'POST', '/incoming-payments', ORDER)
    const again = await shopAt(after).request(ACCESS, 'POST', '/incoming-payments', ORDER)
    expect(first.status).toBe(201)
    expect(again.at('id')).toBe(first.at('id'))
  })
})
