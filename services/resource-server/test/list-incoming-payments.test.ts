import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { systemClock, systemRandom } from '@open-payments-server/runtime'
import { newId } from '@open-payments-server/value-types/identifiers'
import type { Answer } from '@open-payments-server/testing'
import {
  ALICE,
  BOB,
  CAROL,
  PUBLIC_URL,
  startTestResourceServer,
  type TestClient,
  type TestResourceServer
} from './support/resource-server.js'

const OWN_COUNT = 25
const ALL_COUNT = OWN_COUNT + 5

let service: TestResourceServer
let shop: TestClient
let market: TestClient
/** Ids of everything at Alice's, newest first. */
let newestFirst: string[]

beforeAll(async () => {
  service = await startTestResourceServer()
  shop = service.createClient('shop')
  market = service.createClient('market')
  const create = [{ type: 'incoming-payment' as const, actions: ['create'] }]
  const ids: string[] = []
  for (let count = 0; count < ALL_COUNT; count += 1) {
    const client = count % 6 === 5 ? market : shop
    const answer = await client.request(create, 'POST', '/incoming-payments', {
      body: { walletAddress: ALICE }
    })
    ids.push(answer.textAt('id'))
    // Several within one millisecond, so that the id must decide their order.
    if (count % 3 === 0) service.clock.advanceSeconds(0.001)
  }
  newestFirst = await sortAsListed(ids)
  await shop.request(create, 'POST', '/incoming-payments', { body: { walletAddress: BOB } })
})
afterAll(() => service.stop())

async function sortAsListed(ids: readonly string[]): Promise<string[]> {
  const rows = await service.database.query<{ id: string }>(
    'select id from incoming_payment order by created_at desc, id desc'
  )
  expect(rows).toHaveLength(ids.length)
  return rows.map(({ id }) => `${PUBLIC_URL}/incoming-payments/${id}`)
}

const accessTo = (actions: readonly string[], identifier?: string) => [
  { type: 'incoming-payment' as const, actions, ...(identifier === undefined ? {} : { identifier }) }
]

const list = (
  query: Record<string, string | number> = {},
  access = accessTo(['list-all']),
  client = shop,
  headers = {}
) =>
  client.request(
    access,
    'GET',
    `/incoming-payments?${new URLSearchParams({ 'wallet-address': ALICE, ...query } as Record<string, string>).toString()}`,
    { headers }
  )

const idsOf = (answer: Answer): unknown[] => (answer.at('result') as { id: string }[]).map(({ id }) => id)

describe('a list of incoming payments', () => {
  it('holds the newest 20 first, and says that there are more', async () => {
    const answer = await list()
    expect(answer.status).toBe(200)
    expect(idsOf(answer)).toEqual(newestFirst.slice(0, 20))
    expect(answer.at('pagination')).toEqual({
      startCursor: expect.any(String),
      endCursor: expect.any(String),
      hasNextPage: true,
      hasPreviousPage: false
    })
    expect((answer.at('result') as object[])[0]).not.toHaveProperty('methods')
  })

  it('goes on after a cursor and back before it, each item exactly once', async () => {
    const pages: unknown[][] = []
    let answer = await list({ first: 7 })
    pages.push(idsOf(answer))
    while (answer.at('pagination.hasNextPage') === true) {
      answer = await list({ first: 7, cursor: answer.textAt('pagination.endCursor') })
      expect(answer.at('pagination.hasPreviousPage')).toBe(true)
      pages.push(idsOf(answer))
    }
    expect(pages.flat()).toEqual(newestFirst)

    const back: unknown[][] = [idsOf(answer)]
    while (answer.at('pagination.hasPreviousPage') === true) {
      answer = await list({ last: 7, cursor: answer.textAt('pagination.startCursor') })
      expect(answer.at('pagination.hasNextPage')).toBe(true)
      back.unshift(idsOf(answer))
    }
    expect(back.flat()).toEqual(newestFirst)
  })

  it('keeps its place when something new comes', async () => {
    const first = await list({ first: 5 }, accessTo(['list-all']))
    const create = [{ type: 'incoming-payment' as const, actions: ['create'] }]
    service.clock.advanceSeconds(1)
    const created = await shop.request(create, 'POST', '/incoming-payments', {
      body: { walletAddress: ALICE }
    })
    const next = await list({ first: 5, cursor: first.textAt('pagination.endCursor') })
    expect(idsOf(next)).toEqual(newestFirst.slice(5, 10))
    newestFirst.unshift(created.textAt('id'))
  })

  it('is empty, without cursors, where there is nothing', async () => {
    const answer = await list({ 'wallet-address': CAROL })
    expect(answer.body).toEqual({ pagination: { hasNextPage: false, hasPreviousPage: false }, result: [] })
    const beforeTheNewest = await list({
      last: 5,
      cursor: (await list({ first: 1 })).textAt('pagination.endCursor')
    })
    expect(beforeTheNewest.body).toEqual({
      pagination: { hasNextPage: true, hasPreviousPage: false },
      result: []
    })
  })

  it('holds only what the client created, unless its access says list-all', async () => {
    const own = await list({ first: 100 }, accessTo(['list'], ALICE), market)
    expect(idsOf(own)).toHaveLength(5)
    const all = await list({ first: 100 }, accessTo(['list', 'list-all'], ALICE), market)
    expect(idsOf(all)).toEqual(newestFirst)
  })

  it('is refused with 403 Insufficient Grant where the access does not reach', async () => {
    for (const access of [accessTo(['list-all'], BOB), accessTo(['read-all', 'create']), []]) {
      const answer = await list({}, access)
      expect(answer.status).toBe(403)
      expect(answer.at('error.description')).toBe('Insufficient Grant')
    }
  })

  it('is refused with 400 unknown wallet address for one that is not hosted here', async () => {
    for (const walletAddress of [
      'https://elsewhere.example/alice',
      `${PUBLIC_URL}/nobody`,
      `${PUBLIC_URL}/a\u0000b`
    ]) {
      const answer = await list({ 'wallet-address': walletAddress })
      expect(answer.status).toBe(400)
      expect(answer.at('error.description')).toBe('unknown wallet address')
    }
  })

  it.each<[string, string, string]>([
    ['no wallet address', 'wallet-address', 'first=3'],
    ['an empty wallet address', 'wallet-address', 'wallet-address='],
    ['two wallet addresses', 'wallet-address', `wallet-address=${ALICE}&wallet-address=${BOB}`],
    ['a very long wallet address', 'wallet-address', `wallet-address=${'a'.repeat(3_000)}`],
    ['first of 0', 'first', `wallet-address=${ALICE}&first=0`],
    ['first of 101', 'first', `wallet-address=${ALICE}&first=101`],
    ['first that is no number', 'first', `wallet-address=${ALICE}&first=1e1`],
    ['first that is negative', 'first', `wallet-address=${ALICE}&first=-1`],
    ['last without a cursor', 'last', `wallet-address=${ALICE}&last=3`],
    ['first and last', 'last', `wallet-address=${ALICE}&first=3&last=3`],
    ['an empty cursor', 'cursor', `wallet-address=${ALICE}&cursor=`],
    [
      'a cursor from elsewhere',
      'cursor',
      `wallet-address=${ALICE}&cursor=241de237-f989-42be-926d-c0c1fca57708`
    ],
    ['a cursor with a NUL', 'cursor', `wallet-address=${ALICE}&cursor=%00`],
    ['a very long cursor', 'cursor', `wallet-address=${ALICE}&cursor=${'A'.repeat(3_000)}`],
    ['an unknown parameter', 'page', `wallet-address=${ALICE}&page=2`]
  ])('is refused with 400 naming the parameter for %s', async (_what, field, query) => {
    const answer = await shop.request(accessTo(['list-all']), 'GET', `/incoming-payments?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.at('error.details')).toEqual({ [field]: expect.any(String) })
  })

  it('answers 304 while nothing changed', async () => {
    const etag = (await list()).headers.get('etag') ?? ''
    const answer = await list({}, accessTo(['list-all']), shop, { 'if-none-match': etag })
    expect(answer).toMatchObject({ status: 304, text: '' })
  })
})

describe('a listed payment', () => {
  const PATH = '/odd'

  beforeAll(async () => {
    const [accountId, walletAddressId] = [randomUUID(), randomUUID()]
    await service.database.query(
      `with odd as (insert into asset (code, scale) values ('U"S\\D', 255) returning *)
       insert into account (id, kind, name, asset_id, asset_code, asset_scale) select $1, 'wallet', 'odd', id, code, scale from odd`,
      [accountId]
    )
    await service.database.query(
      'insert into wallet_address (id, path, account_id, public_name) values ($1, $2, $3, null)',
      [walletAddressId, PATH, accountId]
    )
    const ordinary = {
      incoming: null as string | null,
      received: '0',
      completed: false,
      expires: '2031-01-01T00:00:00.000Z',
      metadata: null as string | null,
      created: '2026-01-31T12:00:00.000Z',
      updated: '2026-01-31T12:00:00.000Z'
    }
    const payments = [
      ordinary,
      { ...ordinary, incoming: '18446744073709551615', received: '18446744073709551614' },
      { ...ordinary, incoming: '5', received: '5', completed: true, updated: '2026-02-28T23:59:59.999Z' },
      { ...ordinary, created: '2020-02-29T01:02:03.100Z', expires: '2020-02-29T01:02:03.120Z' },
      { ...ordinary, created: '2020-02-29T01:02:03.004Z', updated: '2020-02-29T01:02:03.050Z' },
      { ...ordinary, metadata: '{}' },
      {
        ...ordinary,
        metadata: String.raw`{"b":"\u2028 \"quoted\" \\ 😀 é\n","a":[1.0,1e30,0.1,-0,null,true,{"":[]}],"10":1,"9":2}`
      }
    ]
    for (const { incoming, received, completed, expires, metadata, created, updated } of payments) {
      await service.database.query(
        `insert into incoming_payment (id, wallet_address_id, client, incoming_value, received_value, completed, expires_at,
                                       metadata, created_at, updated_at, shared_secret_key_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'key')`,
        [
          newId(systemClock, systemRandom),
          walletAddressId,
          shop.client,
          incoming,
          received,
          completed,
          expires,
          metadata,
          created,
          updated
        ]
      )
    }
  })

  it.each(['UTC', 'Asia/Kolkata', 'America/New_York'])(
    'is written to the byte as when it is read alone, by a database whose time zone is %s',
    async (zone) => {
      const page = (): Promise<Answer> => list({ 'wallet-address': `${PUBLIC_URL}${PATH}` })
      const ids = idsOf(await page()) as string[]
      expect(ids).toHaveLength(7)
      const alone = await Promise.all(
        ids.map(async (id) => {
          const path = id.slice(PUBLIC_URL.length)
          const { text } = await shop.request(accessTo(['read-all']), 'GET', path)
          return text.replace(/,"methods":.*$/, '}')
        })
      )
      await setTimeZone(zone)
      const { text } = await page()
      expect(text.slice(text.indexOf('"result"'))).toBe(`"result":[${alone.join(',')}]}`)
    }
  )

  /** Sets it for all new sessions, and ends the existing ones. */
  async function setTimeZone(zone: string): Promise<void> {
    const [row] = await service.database.query<{ name: string }>('select current_database() as name')
    await service.database.query(`alter database ${row?.name ?? ''} set timezone to '${zone}'`)
    const { pool } = service.server
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
    for (const client of clients) client.release(true)
  }
})

describe('updatedAt', () => {
  const itemOf = (answer: Answer): object => (answer.at('result') as object[])[0] ?? {}
  const shown = async (accept: string): Promise<boolean> => {
    const answer = await list({}, accessTo(['list-all']), shop, { accept })
    expect(answer.headers.get('vary')).toContain('Accept')
    return 'updatedAt' in itemOf(answer)
  }

  it.each(['application/json', 'Application/JSON; charset=utf-8', 'application/json, text/html;q=0'])(
    'is left out of lists for a client that accepts %s alone',
    async (accept) => {
      expect(await shown(accept)).toBe(false)
    }
  )

  it.each(['*/*', 'application/*', 'application/json, */*;q=0.1', 'text/html, application/json'])(
    'is shown in lists to a client that accepts %s',
    async (accept) => {
      expect(await shown(accept)).toBe(true)
    }
  )

  it('is left out of a completed payment for a client that accepts JSON alone', async () => {
    const access = accessTo(['create', 'complete', 'read'])
    const complete = async (accept: string): Promise<Answer> => {
      const created = await shop.request(access, 'POST', '/incoming-payments', {
        body: { walletAddress: ALICE }
      })
      const path = created.textAt('id').slice(PUBLIC_URL.length)
      return shop.request(access, 'POST', `${path}/complete`, { headers: { accept } })
    }
    const published = await complete('application/json')
    expect(Object.keys(published.body as object).sort()).toEqual([
      'completed',
      'createdAt',
      'expiresAt',
      'id',
      'receivedAmount',
      'walletAddress'
    ])
    expect((await complete('*/*')).body).toHaveProperty('updatedAt')
  })

  it('is always shown where a payment is created or read', async () => {
    const access = accessTo(['create', 'read'])
    const headers = { accept: 'application/json' }
    const created = await shop.request(access, 'POST', '/incoming-payments', {
      body: { walletAddress: ALICE },
      headers
    })
    expect(created.body).toHaveProperty('updatedAt')
    const path = created.textAt('id').slice(PUBLIC_URL.length)
    expect((await shop.request(access, 'GET', path, { headers })).body).toHaveProperty('updatedAt')
  })

  it.each([
    ['full', 'application/json', true],
    ['published', '*/*', false]
  ])('is pinned by PAYMENT_REPRESENTATION=%s', async (setting, accept, expected) => {
    const pinned = await startTestResourceServer({ settings: { PAYMENT_REPRESENTATION: setting } })
    try {
      const client = pinned.createClient('shop')
      const access = accessTo(['create', 'list'])
      await client.request(access, 'POST', '/incoming-payments', { body: { walletAddress: ALICE } })
      const answer = await client.request(access, 'GET', `/incoming-payments?wallet-address=${ALICE}`, {
        headers: { accept },
        // The operator has fixed the full shape, so the requested published one is not given.
        outsideContract: expected ? { reason: 'PAYMENT_REPRESENTATION=full' } : undefined
      })
      expect('updatedAt' in itemOf(answer)).toBe(expected)
    } finally {
      await pinned.stop()
    }
  })
})
