import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import { createResourceUrls } from '../src/domain/resource-urls.js'
import { createQuoteStore, type NewQuote, type QuoteStore } from '../src/modules/quotes/index.js'
import { openDatabase } from './support/open-database.js'
import { PUBLIC_URL, startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

const NOW_MS = Date.UTC(2030, 0, 1)
const URLS = createResourceUrls(PUBLIC_URL)
const USD = { code: 'USD', scale: 2 }

let service: TestResourceServer
let store: QuoteStore
let payer: { readonly id: string; readonly path: string; readonly asset_id: number }

beforeAll(async () => {
  service = await startTestResourceServer()
  store = createStore()
  const [row] = await service.database.query<typeof payer>(
    `select w.id, w.path, a.asset_id from wallet_address w join account a on a.id = w.account_id where w.path = '/alice'`
  )
  if (row === undefined) throw new Error('alice has no wallet address')
  payer = row
})
afterAll(() => service.stop())

/** A store as another replica would have it. */
function createStore(): QuoteStore {
  return createQuoteStore({ database: openDatabase(service.server.pool), urls: URLS })
}

function newQuote(key?: string, overrides: Partial<NewQuote> = {}): NewQuote {
  return {
    quote: {
      id: randomUUID(),
      walletAddressUrl: URLS.ofWalletAddress(payer.path),
      client: 'shop',
      receiver: 'https://wallet.example/incoming-payments/1',
      debitAsset: USD,
      debitValue: 101n,
      receiveAsset: USD,
      receiveValue: 100n,
      method: 'ilp',
      expiresAtMs: NOW_MS + 60_000,
      createdAtMs: NOW_MS
    },
    identity:
      key === undefined
        ? undefined
        : { idempotencyHash: Buffer.from(key), requestHash: Buffer.from(`request of ${key}`) },
    walletAddressId: payer.id,
    receiveAssetId: payer.asset_id,
    feeValue: 1n,
    sending: undefined,
    roomIn: undefined,
    ...overrides
  }
}

describe('quotes that are created at the same time', () => {
  it('are stored with one statement, with and without a key', async () => {
    const quotes = [newQuote(), newQuote(), newQuote('one'), newQuote('two')]
    const record = recordStatements(service.server.pool)
    const stored = await Promise.all(quotes.map((one) => store.create(one)))
    record.stop()
    expect(record.statements.filter((text) => text.includes('insert into quote'))).toHaveLength(1)
    expect(stored).toEqual(
      quotes.map(({ quote, identity }) => ({ quote, requestHash: identity?.requestHash ?? null }))
    )
    expect(await store.findCreated(Buffer.from('two'))).toEqual(stored[3])
  })

  it('are one where they carry the same key, of that request and of an earlier one', async () => {
    const first = newQuote('same')
    const stored = await Promise.all(
      [newQuote(), first, newQuote('same'), newQuote('other'), newQuote('same')].map((one) =>
        store.create(one)
      )
    )
    const ids = stored.map((one) => one?.quote.id)
    expect([ids[2], ids[4]]).toEqual([first.quote.id, first.quote.id])
    expect(ids[3]).not.toBe(first.quote.id)
    expect(await store.create(newQuote('same'))).toEqual(stored[1])
  })

  it('are not stored where there is no room, and those beside them are', async () => {
    const [, full, ...others] = await Promise.all(
      [newQuote(), newQuote('full', { roomIn: randomUUID() }), newQuote('beside'), newQuote()].map((one) =>
        store.create(one)
      )
    )
    expect(full).toBeUndefined()
    expect(others).not.toContain(undefined)
  })

  it('are stored whatever the order of their keys, by replicas that create the same', async () => {
    const other = createStore()
    for (let round = 0; round < 10; round += 1) {
      const keys = Array.from({ length: 20 }, (_, index) => `${String(round)}/${String(index)}`)
      const stored = await Promise.all([
        ...keys.map((key) => store.create(newQuote(key))),
        ...keys.toReversed().map((key) => other.create(newQuote(key)))
      ])
      expect(stored).not.toContain(undefined)
      expect(new Set(stored.map((one) => one?.quote.id)).size).toBe(keys.length)
    }
  })
})
