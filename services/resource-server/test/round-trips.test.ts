import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, recordStatements } from '@open-payments-server/testing'
import {
  ALICE,
  BOB,
  PUBLIC_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const ACCESS = [
  { type: 'incoming-payment' as const, actions: ['create', 'read', 'list', 'complete'] },
  { type: 'quote' as const, actions: ['create', 'read'] }
]

let service: TestResourceServer
let shop: TestClient
let accessToken: string

beforeAll(async () => {
  service = await startTestResourceServer()
  shop = service.createClient('shop')
  accessToken = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS }).accessToken
  // Steady state: the token and the wallet addresses are known.
  await createPayment()
  await shop.request(ACCESS, 'GET', `/incoming-payments?wallet-address=${BOB}`, { accessToken })
})
afterAll(() => service.stop())

const createPayment = (): Promise<Answer> =>
  shop.request(ACCESS, 'POST', '/incoming-payments', {
    accessToken,
    body: { walletAddress: ALICE, incomingAmount: { value: '100', assetCode: 'USD', assetScale: 2 } }
  })

/** How many SQL statements, and how many calls of the auth server, something takes. */
async function count(
  work: () => Promise<Answer>
): Promise<{ status: number; sql: number; introspections: number }> {
  const asked = service.auth.introspections
  const record = recordStatements(service.server.pool)
  const { status } = await work()
  record.stop()
  return { status, sql: record.statements.length, introspections: service.auth.introspections - asked }
}

const pathOf = (answer: Answer): string => answer.textAt('id').slice(PUBLIC_URL.length)

describe('in the steady state', () => {
  it('creating an incoming payment takes one statement', async () => {
    expect(await count(createPayment)).toEqual({ status: 201, sql: 1, introspections: 0 })
  })

  it('reading an incoming payment takes one statement, with credentials or without', async () => {
    const path = pathOf(await createPayment())
    const read = () => shop.request(ACCESS, 'GET', path, { accessToken })
    expect(await count(read)).toEqual({ status: 200, sql: 1, introspections: 0 })
    expect(await count(() => service.send('GET', path))).toEqual({ status: 200, sql: 1, introspections: 0 })
  })

  it('listing incoming payments takes one statement', async () => {
    const list = () =>
      shop.request(ACCESS, 'GET', `/incoming-payments?wallet-address=${ALICE}`, { accessToken })
    expect(await count(list)).toEqual({ status: 200, sql: 1, introspections: 0 })
  })

  it('completing an incoming payment takes one statement', async () => {
    const path = pathOf(await createPayment())
    const complete = () => shop.request(ACCESS, 'POST', `${path}/complete`, { accessToken })
    expect(await count(complete)).toEqual({ status: 200, sql: 1, introspections: 0 })
  })

  it('creating a quote of a given amount takes one statement for a receiver that was quoted before', async () => {
    const receiver = (await createPayment()).textAt('id')
    const amount = { value: '5', assetCode: 'USD', assetScale: 2 }
    const body = { walletAddress: BOB, receiver, method: 'ilp', receiveAmount: amount }
    const create = () => shop.request(ACCESS, 'POST', '/quotes', { accessToken, body })
    expect(await count(create)).toEqual({ status: 201, sql: 2, introspections: 0 })
    expect(await count(create)).toEqual({ status: 201, sql: 1, introspections: 0 })
  })

  it('creating a quote of what the receiver lacks takes two statements, and reading it one', async () => {
    const receiver = (await createPayment()).textAt('id')
    const body = { walletAddress: BOB, receiver, method: 'ilp' }
    let created: Answer | undefined
    const create = async (): Promise<Answer> =>
      (created = await shop.request(ACCESS, 'POST', '/quotes', { accessToken, body }))
    expect(await count(create)).toEqual({ status: 201, sql: 2, introspections: 0 })
    const path = created === undefined ? '' : pathOf(created)
    const read = () => shop.request(ACCESS, 'GET', path, { accessToken })
    expect(await count(read)).toEqual({ status: 200, sql: 1, introspections: 0 })
  })

  it('refusing a request takes none', async () => {
    const refused = () => shop.request([], 'GET', '/incoming-payments/01890a5d-ac96-774b-bcce-b302099a8057')
    expect(await count(refused)).toEqual({ status: 403, sql: 0, introspections: 1 })
    const unsigned = () => shop.request(ACCESS, 'GET', '/incoming-payments', { accessToken, unsigned: true })
    expect(await count(unsigned)).toMatchObject({ status: 401, sql: 0 })
  })
})
