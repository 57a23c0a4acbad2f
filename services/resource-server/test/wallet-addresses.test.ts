import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { recordStatements } from '@open-payments-server/testing'
import {
  ALICE,
  AUTH_SERVER_URL,
  PUBLIC_URL,
  startTestResourceServer,
  type TestResourceServer
} from './support/resource-server.js'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

let service: TestResourceServer
let withPage: TestResourceServer

beforeAll(async () => {
  service = await startTestResourceServer()
  withPage = await startTestResourceServer({
    settings: { WALLET_ADDRESS_PAGE_URL: 'https://wallet.example/pay' }
  })
  await service.database.query(
    `insert into wallet_address (id, path, account_id)
     select $1::uuid, '/.well-known/pay', account_id from wallet_address where path = '/alice'
     union all select $2::uuid, '/shops/books/2', account_id from wallet_address where path = '/alice'`,
    [randomUUID(), randomUUID()]
  )
  await service.database.query(
    `insert into client_key (wallet_address_id, kid, x, created_at, revoked_at)
     select id, key.kid, key.x, key.created_at, key.revoked_at from wallet_address, (values
       ('second', '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', timestamptz '2026-01-02', null),
       ('first', 'oy0L_vTygNE4IogRyn_F5GmHXdqYVjIXkWs2jky7zsI', '2026-01-01', null),
       ('revoked', '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', '2026-01-01', timestamptz '2026-01-03')
     ) as key (kid, x, created_at, revoked_at) where path = '/alice'`
  )
})
afterAll(async () => {
  await service.stop()
  await withPage.stop()
})

describe('a wallet address', () => {
  it('tells anyone its asset and its servers, and may be kept', async () => {
    const answer = await service.send('GET', '/alice')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: ALICE,
      publicName: 'Alice',
      assetCode: 'USD',
      assetScale: 2,
      authServer: AUTH_SERVER_URL,
      resourceServer: PUBLIC_URL
    })
    expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
    expect(answer.headers.get('vary')).toContain('Accept')
  })

  it('answers 304 to who knows it already', async () => {
    const etag = (await service.send('GET', '/alice')).headers.get('etag') ?? ''
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      expect(await service.send('GET', '/alice', { 'if-none-match': tag })).toMatchObject({
        status: 304,
        text: ''
      })
    }
    expect(await service.send('GET', '/alice', { 'if-none-match': '"other"' })).toMatchObject({ status: 200 })
  })

  it('may have several segments, and no public name', async () => {
    const answer = await service.send('GET', '/shops/books/2')
    expect(answer.status).toBe(200)
    expect(answer.body).not.toHaveProperty('publicName')
  })

  it.each(['/.well-known/pay', '/'])('without a path is served under %s', async (path) => {
    const answer = await service.send('GET', path)
    expect(answer.status).toBe(200)
    expect(answer.at('id')).toBe(PUBLIC_URL)
  })

  it.each([
    '/nobody',
    '/Alice',
    '/alice/',
    '/%61lice',
    '/alice/bob',
    '/%00',
    '/%ff',
    '/quotes',
    '/incoming-payments/../alice/x',
    `/${'a'.repeat(5_000)}`,
    `/${'a/'.repeat(200)}b`,
    '/.well-known/other',
    '/nobody/jwks.json',
    '/quotes/jwks.json',
    '/%00/jwks.json'
  ])('that does not exist is answered with 404 in JSON: %s', async (path) => {
    const answer = await service.send('GET', path)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    expect(answer.at('error.code')).toBe(String(answer.status))
  })

  it.each([
    ['POST', '/alice', 'GET, HEAD'],
    ['OPTIONS', '/alice/jwks.json', 'GET, HEAD'],
    ['GET', '/quotes', 'POST'],
    ['DELETE', '/quotes/some-id', 'GET, HEAD'],
    ['PUT', '/outgoing-payments', 'GET, HEAD, POST'],
    ['GET', '/incoming-payments/some-id/complete', 'POST']
  ])('takes no other method than its path: %s %s is 405', async (method, path, allow) => {
    const answer = await service.send(method, path)
    expect([answer.status, answer.at('error.code')]).toEqual([405, '405'])
    expect(answer.headers.get('allow')).toBe(allow)
  })

  it('is looked up with one statement, and then remembered', async () => {
    await service.database.query(
      `insert into wallet_address (id, path, account_id) select $1, '/fresh', account_id from wallet_address where path = '/bob'`,
      [randomUUID()]
    )
    const record = recordStatements(service.server.pool)
    await service.send('GET', '/fresh')
    expect(record.statements).toHaveLength(1)
    await service.send('GET', '/fresh')
    record.stop()
    expect(record.statements).toHaveLength(1)
  })
})

describe('the keys of a wallet address', () => {
  it('are those that are not revoked, oldest first', async () => {
    const answer = await service.send('GET', '/alice/jwks.json')
    expect(answer.status).toBe(200)
    const common = { alg: 'EdDSA', use: 'sig', kty: 'OKP', crv: 'Ed25519' }
    expect(answer.body).toEqual({
      keys: [
        { kid: 'first', ...common, x: 'oy0L_vTygNE4IogRyn_F5GmHXdqYVjIXkWs2jky7zsI' },
        { kid: 'second', ...common, x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
      ]
    })
    // With the second for which they may have been remembered here it is the minute of the setting.
    expect(answer.headers.get('cache-control')).toBe('public, max-age=59')
    const headers = { 'if-none-match': answer.headers.get('etag') ?? '' }
    expect(await service.send('GET', '/alice/jwks.json', headers)).toMatchObject({ status: 304 })
  })

  it.each([
    ['/alice/jwks.json', `${ALICE}/jwks.json`],
    ['/jwks.json', `${PUBLIC_URL}/jwks.json`],
    // One wallet address is one client, however its keys are found.
    ['/.well-known/pay/jwks.json', `${PUBLIC_URL}/jwks.json`]
  ])('say whose they are, under whatever host they are asked for: %s', async (path, location) => {
    const answer = await service.send('GET', path)
    expect(answer.headers.get('content-location')).toBe(location)
    const headers = { 'if-none-match': answer.headers.get('etag') ?? '' }
    expect((await service.send('GET', path, headers)).headers.get('content-location')).toBe(location)
  })

  it('say so below the URL of wallet addresses, where that is not the one of the service', async () => {
    const second = await startTestResourceServer({
      settings: { WALLET_ADDRESS_BASE_URL: 'https://wallet.example/' }
    })
    try {
      const answer = await second.send('GET', '/alice/jwks.json')
      expect(answer.headers.get('content-location')).toBe('https://wallet.example/alice/jwks.json')
    } finally {
      await second.stop()
    }
  })

  it.each(['/bob/jwks.json', '/jwks.json', '/.well-known/pay/jwks.json', '/shops/books/2/jwks.json'])(
    'are none where none were added: %s',
    async (path) => {
      const record = recordStatements(service.server.pool)
      expect(await service.send('GET', path)).toMatchObject({ status: 200, body: { keys: [] } })
      record.stop()
      // None if it was requested just before under its other URL.
      expect(record.statements.length).toBeLessThanOrEqual(1)
    }
  )

  it('are looked up once for all who ask at the same time', async () => {
    await service.database.query(
      `insert into wallet_address (id, path, account_id) select $1, '/busy', account_id from wallet_address where path = '/bob'`,
      [randomUUID()]
    )
    const record = recordStatements(service.server.pool)
    const answers = await Promise.all(Array.from({ length: 5 }, () => service.send('GET', '/busy/jwks.json')))
    record.stop()
    expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(
      Array.from({ length: 5 }, () => ({ status: 200, body: { keys: [] } }))
    )
    expect(record.statements).toHaveLength(1)
  })

  it('finds the keys of a wallet address created after a failed lookup', async () => {
    expect(await service.send('GET', '/later/jwks.json')).toMatchObject({ status: 404 })
    await service.database.query(
      `insert into wallet_address (id, path, account_id) select $1, '/later', account_id from wallet_address where path = '/bob'`,
      [randomUUID()]
    )
    expect(await service.send('GET', '/later/jwks.json')).toMatchObject({ status: 200, body: { keys: [] } })
  })
})

describe('a browser that opens a wallet address', () => {
  it('is sent to the configured page', async () => {
    const answer = await withPage.send('GET', '/alice', { accept: BROWSER })
    expect(answer.status).toBe(302)
    expect(answer.headers.get('location')).toBe(
      `https://wallet.example/pay?walletAddress=${encodeURIComponent(ALICE)}`
    )
    expect(answer.headers.get('vary')).toContain('Accept')
  })

  it('gets JSON where no page is configured', async () => {
    expect(await service.send('GET', '/alice', { accept: BROWSER })).toMatchObject({ status: 200 })
  })

  it.each(['application/json', '*/*', 'application/json, text/html;q=0.5'])(
    'is told apart from a client that accepts %s',
    async (accept) => {
      expect(await withPage.send('GET', '/alice', { accept })).toMatchObject({ status: 200 })
    }
  )
})
