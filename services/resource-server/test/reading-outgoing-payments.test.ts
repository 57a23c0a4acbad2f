import { randomUUID } from 'node:crypto'
import { recordStatements } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ALICE, BOB, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld
let receiver: string
let urls: string[]

beforeAll(async () => {
  world = await startPaymentWorld()
  receiver = await world.createReceiver()
  urls = []
  for (let index = 1; index <= 5; index += 1) {
    const created = await world.pay(receiver, index)
    urls.unshift(created.textAt('id'))
    await world.whenEnded(created.textAt('id'))
    world.clock.advanceSeconds(1)
  }
  await world.whenDelivered()
})
afterAll(() => world.stop())

const pathOf = (url: string): string => url.slice(PUBLIC_URL.length)
const access = (actions: string[], identifier?: string) => [
  { type: 'outgoing-payment' as const, actions, ...(identifier === undefined ? {} : { identifier }) }
]
const json = { accept: 'application/json' }

describe('reading an outgoing payment', () => {
  it('shows updatedAt, except to clients that accept nothing but JSON', async () => {
    const full = await world.request('GET', pathOf(urls[0]!))
    const published = await world.request('GET', pathOf(urls[0]!), { headers: json })
    expect(full.at('updatedAt')).toEqual(expect.any(String))
    expect(published.at('updatedAt')).toBeUndefined()
    const { updatedAt, ...rest } = full.body as Record<string, unknown>
    expect(updatedAt).toBeDefined()
    expect(published.body).toEqual(rest)
    expect(full.headers.get('vary')).toMatch(/Accept/)
    expect(full.headers.get('last-modified')).not.toBeNull()
  })

  it('answers 304 to a client that has it already', async () => {
    const first = await world.request('GET', pathOf(urls[0]!))
    const tag = first.headers.get('etag') ?? ''
    const again = await world.request('GET', pathOf(urls[0]!), { headers: { 'if-none-match': tag } })
    expect(again).toMatchObject({ status: 304, text: '' })
  })

  it('takes one statement', async () => {
    await world.request('GET', pathOf(urls[0]!))
    const record = recordStatements(world.server.pool)
    await world.request('GET', pathOf(urls[0]!))
    record.stop()
    const own = record.statements.filter(
      (text) => text.includes('outgoing_payment') && !/skip locked/.test(text)
    )
    expect(own).toHaveLength(1)
  })

  it.each([
    ['is unknown', randomUUID()],
    ['is in capitals', randomUUID().toUpperCase()],
    ['is no UUID', '1'],
    ['is very long', 'x'.repeat(500)],
    ['holds NUL', '%00']
  ])('answers 404 for an id that %s', async (_what, id) => {
    expect(await world.request('GET', `/outgoing-payments/${id}`)).toMatchObject({ status: 404 })
  })

  it('is for the client that created it, unless its access says read-all', async () => {
    const market = world.createClient('market')
    const path = pathOf(urls[0]!)
    expect(await market.request(access(['read']), 'GET', path)).toMatchObject({ status: 404 })
    expect(await market.request(access(['read-all']), 'GET', path)).toMatchObject({ status: 200 })
    expect(await market.request(access(['read-all'], ALICE), 'GET', path)).toMatchObject({ status: 200 })
    // The same answer as for an unknown id, so that nobody learns which ids exist.
    expect(await market.request(access(['read-all'], BOB), 'GET', path)).toMatchObject({ status: 404 })
    const owner = world.createClient('shop')
    expect(await owner.request(access(['read'], BOB), 'GET', path)).toMatchObject({ status: 403 })
    expect(await market.request(access(['create']), 'GET', path)).toMatchObject({ status: 403 })
  })
})

describe('listing outgoing payments', () => {
  const list = (query: string, headers = {}) =>
    world.request('GET', `/outgoing-payments?wallet-address=${encodeURIComponent(ALICE)}${query}`, {
      headers
    })
  const ids = (body: unknown) => (body as { result: { id: string }[] }).result.map(({ id }) => id)

  it('shows the newest first, page by page, in both directions', async () => {
    expect(ids((await list('')).body)).toEqual(urls)
    const first = await list('&first=2')
    expect(ids(first.body)).toEqual(urls.slice(0, 2))
    expect(first.at('pagination')).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    const second = await list(`&first=2&cursor=${first.textAt('pagination.endCursor')}`)
    expect(ids(second.body)).toEqual(urls.slice(2, 4))
    const back = await list(`&last=2&cursor=${second.textAt('pagination.startCursor')}`)
    expect(ids(back.body)).toEqual(urls.slice(0, 2))
  })

  it('shows no updatedAt to clients that accept nothing but JSON', async () => {
    expect((await list('&first=1', json)).at('result.0')).not.toHaveProperty('updatedAt')
    expect((await list('&first=1')).at('result.0')).toHaveProperty('updatedAt')
  })

  it('shows a client its own, unless its access says list-all', async () => {
    const market = world.createClient('market')
    const path = `/outgoing-payments?wallet-address=${encodeURIComponent(ALICE)}`
    expect(ids((await market.request(access(['list']), 'GET', path)).body)).toEqual([])
    expect(ids((await market.request(access(['list-all']), 'GET', path)).body)).toEqual(urls)
    expect(await market.request(access(['read']), 'GET', path)).toMatchObject({ status: 403 })
  })

  it('refuses a wallet address that is not hosted here', async () => {
    const answer = await world.request('GET', '/outgoing-payments?wallet-address=https://x.example')
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.at('error.description')).toBe('unknown wallet address')
  })
})

describe('what a grant has spent', () => {
  it('is told to whoever holds it, and is null before any payment', async () => {
    const spent = await world.request('GET', '/outgoing-payment-grant')
    expect(spent.body).toEqual({ spentDebitAmount: usd(15), spentReceiveAmount: usd(15) })
    const fresh = await world.shop.request(access(['read']), 'GET', '/outgoing-payment-grant')
    expect(fresh.body).toEqual({ spentDebitAmount: null, spentReceiveAmount: null })
  })

  it('needs an access to outgoing payments', async () => {
    const other = [{ type: 'incoming-payment' as const, actions: ['create', 'read'] }]
    const answer = await world.shop.request(other, 'GET', '/outgoing-payment-grant')
    expect(answer).toMatchObject({ status: 403 })
    expect(answer.at('error.description')).toBe('Insufficient Grant')
  })

  it('of a token that ended meanwhile is 403 `Inactive Token`', async () => {
    world.limits.inactive.add(world.token)
    const answer = await world.request('GET', '/outgoing-payment-grant')
    world.limits.inactive.delete(world.token)
    expect(answer).toMatchObject({ status: 403 })
    expect(answer.at('error.description')).toBe('Inactive Token')
  })
})
