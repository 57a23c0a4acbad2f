import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import { createPayableQuotes } from '../src/modules/quotes/index.js'
import { openDatabase } from './support/open-database.js'
import { BOB, startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

const ACCESS = [
  { type: 'incoming-payment' as const, actions: ['create'] },
  { type: 'quote' as const, actions: ['create'] }
]

let service: TestResourceServer

beforeAll(async () => {
  service = await startTestResourceServer()
})
afterAll(() => service.stop())

async function createQuote(value: string): Promise<string> {
  const shop = service.createClient('shop')
  const { accessToken } = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
  const amount = { value, assetCode: 'USD', assetScale: 2 }
  const incoming = await shop.request(ACCESS, 'POST', '/incoming-payments', {
    accessToken,
    body: { walletAddress: BOB }
  })
  const body = { walletAddress: BOB, receiver: incoming.textAt('id'), method: 'ilp', receiveAmount: amount }
  return (await shop.request(ACCESS, 'POST', '/quotes', { accessToken, body })).textAt('id').slice(-36)
}

it('quotes that are asked for at the same time are read with one statement, each for its own client and wallet address', async () => {
  const { pool } = service.server
  const quotes = createPayableQuotes({ database: openDatabase(pool) })
  const ids = [await createQuote('5'), await createQuote('6'), await createQuote('7')] as const
  const [quote] = await service.database.query<{ client: string; wallet_address_id: string }>(
    'select client, wallet_address_id from quote where id = $1',
    [ids[0]]
  )
  const { client = '', wallet_address_id: walletAddressId = '' } = quote ?? {}
  const record = recordStatements(pool)
  const found = await Promise.all([
    quotes.find(ids[0], { walletAddressId, client }),
    quotes.find(ids[1], { walletAddressId, client }),
    quotes.find(ids[2], { walletAddressId, client }),
    quotes.find(ids[1], { walletAddressId, client: `${client}x` }),
    quotes.find(ids[1], { walletAddressId: ids[1], client }),
    quotes.find(walletAddressId, { walletAddressId, client })
  ])
  record.stop()
  expect(found.map((one) => one?.amounts.receiveValue)).toEqual([5n, 6n, 7n, undefined, undefined, undefined])
  expect(record.statements).toHaveLength(1)
})
