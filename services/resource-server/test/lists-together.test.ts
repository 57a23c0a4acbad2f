import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import type { PageRequest } from '../src/domain/pagination.js'
import type { WalletAddress } from '../src/domain/wallet-address.js'
import { createIncomingPaymentList } from '../src/modules/incoming-payments/index.js'
import { createWalletAddressDirectory } from '../src/modules/wallet-addresses/index.js'
import { createResourceUrls } from '../src/domain/resource-urls.js'
import { openDatabase } from './support/open-database.js'
import {
  ALICE,
  BOB,
  PUBLIC_URL,
  startTestResourceServer,
  type TestResourceServer
} from './support/resource-server.js'

let service: TestResourceServer
let alice: WalletAddress
let bob: WalletAddress

beforeAll(async () => {
  service = await startTestResourceServer()
  const create = [{ type: 'incoming-payment' as const, actions: ['create'] }]
  const clients = [service.createClient('shop'), service.createClient('market')] as const
  for (let count = 0; count < 24; count += 1) {
    const client = clients[count % 3 === 0 ? 1 : 0]
    const body = { walletAddress: count % 4 === 0 ? BOB : ALICE, metadata: { count } }
    await client.request(create, 'POST', '/incoming-payments', { body })
    service.clock.advanceSeconds(0.001)
  }
  const database = openDatabase(service.server.pool)
  const directory = createWalletAddressDirectory({ database, urls: createResourceUrls(PUBLIC_URL) })
  alice = await hosted(directory.findByUrl(ALICE))
  bob = await hosted(directory.findByUrl(BOB))
})
afterAll(() => service.stop())

async function hosted(found: Promise<WalletAddress | undefined>): Promise<WalletAddress> {
  const walletAddress = await found
  if (walletAddress === undefined) throw new Error('the wallet address is not hosted here')
  return walletAddress
}

const SHOP = 'https://shop.example/wallet'
const MARKET = 'https://market.example/wallet'
const newest = (limit: number): PageRequest => ({ direction: 'forward', limit, position: undefined })

it('pages that are asked for at the same time are read with one statement for each kind, each as if alone', async () => {
  const list = createIncomingPaymentList({ database: openDatabase(service.server.pool) })
  const [middle] = (await list(alice, undefined, newest(9))).rows.slice(8, 9)
  if (middle === undefined) throw new Error('alice has too few payments')
  const from = (direction: PageRequest['direction'], limit: number): PageRequest => ({
    direction,
    limit,
    position: middle
  })
  const asked: readonly (readonly [WalletAddress, string | undefined, PageRequest])[] = [
    [alice, undefined, newest(3)],
    [bob, undefined, newest(100)],
    [alice, undefined, newest(7)],
    [alice, SHOP, newest(4)],
    [alice, MARKET, newest(4)],
    [bob, SHOP, newest(100)],
    [bob, 'https://nobody.example/wallet', newest(5)],
    [alice, undefined, from('forward', 2)],
    [bob, undefined, from('forward', 100)],
    [alice, MARKET, from('forward', 3)],
    [alice, undefined, from('backward', 2)],
    [bob, undefined, from('backward', 100)],
    [alice, SHOP, from('backward', 3)]
  ]
  const alone = []
  for (const one of asked) alone.push(await list(...one))

  const record = recordStatements(service.server.pool)
  const together = await Promise.all(asked.map((one) => list(...one)))
  record.stop()

  // Newest, forward and backward, of all clients or of one: none is sent twice.
  expect(record.statements).toHaveLength(new Set(record.statements).size)
  expect(record.statements.length).toBeGreaterThan(0)
  expect(together).toEqual(alone)
  // They differ, so that none can be taken for another.
  expect(alone.map(({ rows }) => rows.length)).toEqual([4, 6, 8, 5, 5, 4, 0, 3, 4, 3, 3, 2, 4])
  expect(alone[1]?.rows.every(({ walletAddressUrl }) => walletAddressUrl === BOB)).toBe(true)
  expect(alone.map(({ hasOpposite }) => hasOpposite)).toEqual([
    ...Array.from({ length: 7 }, () => false),
    ...Array.from({ length: 6 }, () => true)
  ])
})
