import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Answer } from '@open-payments-server/testing'
import { createPeers, PEER_SETTINGS, type PayingPeer, type TestPeers } from './support/paying-peer.js'
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
let peers: TestPeers
let peer: PayingPeer

beforeAll(async () => {
  before = await startTestResourceServer({ settings: { ...PEER_SETTINGS, SHARED_SECRET_KEY: FIRST_KEY } })
  const start = (settings: Record<string, string>) =>
    startTestResourceServer({
      settings: { ...PEER_SETTINGS, DATABASE_URL: before.database.url, ...settings }
    })
  prepared = await start({ SHARED_SECRET_KEY: FIRST_KEY, SHARED_SECRET_KEYS_OTHER: SECOND_KEY })
  during = await start({ SHARED_SECRET_KEY: SECOND_KEY, SHARED_SECRET_KEYS_OTHER: FIRST_KEY })
  after = await start({ SHARED_SECRET_KEY: SECOND_KEY })
  peers = createPeers(before)
  peer = await peers.create()
})

afterAll(async () => {
  peers.close()
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

/** How a payment to an address ends that one replica told, when its packets reach another. */
async function payAt(service: TestResourceServer, told: Answer): Promise<string> {
  const { end } = await peer.at(service).pay(peers.destinationOf(methodsOf(told)), 1n)
  return end.outcome === 'rejected' ? end.code : end.outcome
}

describe('a new key of shared secrets', () => {
  it('leaves the addresses of the old key valid while the old key is kept', async () => {
    expect(await payAt(during, await create(before))).toBe('complete')
  })

  it('makes addresses that replicas know which do not use it yet, once they were told', async () => {
    expect(await payAt(prepared, await create(during))).toBe('complete')
  })

  it('makes addresses that stay valid when the old key is gone, also of older payments', async () => {
    const old = await create(before)
    const read = await shopAt(during).request(ACCESS, 'GET', old.textAt('id').slice(PUBLIC_URL.length))
    expect(methodsOf(read)).not.toEqual(methodsOf(old))
    expect(await payAt(after, read)).toBe('complete')
  })

  it('ends the addresses of the old key once that is gone: nothing is credited by a wrong secret', async () => {
    const old = await create(before)
    expect(await payAt(after, old)).toBe('F06')
    expect(await payAt(before, await create(after))).toBe('F06')
  })

  it('does not make a repeated request a new one', async () => {
    const first = await shopAt(before).request(ACCESS, 'POST', '/incoming-payments', ORDER)
    const again = await shopAt(after).request(ACCESS, 'POST', '/incoming-payments', ORDER)
    expect(first.status).toBe(201)
    expect(again.at('id')).toBe(first.at('id'))
  })
})
