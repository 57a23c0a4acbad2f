import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Contract, type Exchange, loadContract } from '../../src/contract/index.js'

const OWN_DESCRIPTION = `
openapi: 3.1.0
info: { title: ours, version: '1' }
paths:
  /ours/{id}:
    post:
      responses:
        '202':
          description: with a body for those who asked for it
          x-body-optional: true
          content: { application/json: { schema: { type: object, properties: { code: { type: string } } } } }
        '303':
          description: elsewhere
          headers:
            Location: { schema: { type: string, pattern: '^https:' } }
            Set-Cookie: { required: false, schema: { type: string } }
        '403':
          description: a page, or our error
          content: { text/html: {}, application/json: { schema: { type: object } } }
`

const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
const incomingPayment = {
  id: 'https://wallet.example/incoming-payments/1',
  walletAddress: 'https://wallet.example/bob',
  completed: false,
  receivedAmount: usd('0'),
  createdAt: '2026-11-21T10:00:00.000Z'
}
const quote = {
  id: 'https://wallet.example/quotes/1',
  walletAddress: 'https://wallet.example/alice',
  receiver: 'https://wallet.example/incoming-payments/1',
  receiveAmount: usd('100'),
  debitAmount: usd('18446744073709551615'),
  method: 'ilp',
  createdAt: '2026-11-21T10:00:00.000Z'
}
const updatedAt = '2026-11-21T10:00:00.000Z'
const error = { error: { code: '401', description: 'Invalid Token' } }
const page = { accept: 'text/html,*/*', 'content-type': 'text/html; charset=utf-8' }
const challenge = { 'www-authenticate': 'GNAP as_uri=https://auth.example/' }

describe('the contract', () => {
  let folder: string
  let contract: Contract
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'contract-'))
    await writeFile(join(folder, 'ours.yaml'), OWN_DESCRIPTION)
    contract = await loadContract([join(folder, 'ours.yaml')])
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** What is wrong with an answer of JSON, unless its headers say something else. */
  const violations = (
    operation: string,
    status: number,
    body: unknown,
    { accept, ...headers }: Record<string, string> = {}
  ): string[] => {
    const [method = '', url = ''] = operation.split(' ')
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    const all: Record<string, string> = {
      ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
      ...headers
    }
    const exchange: Exchange = {
      method,
      url,
      accept,
      status,
      header: (name) => all[name.toLowerCase()] ?? null,
      text
    }
    return contract.violations(exchange)
  }

  it('is met by the published examples', () => {
    expect(violations('POST /quotes', 201, quote)).toEqual([])
    expect(violations('GET https://wallet.example/quotes/1?x=y', 200, quote)).toEqual([])
    expect(violations('DELETE /token/1', 204, undefined)).toEqual([])
    expect(violations('GET /incoming-payments/1', 401, error, challenge)).toEqual([])
  })

  it.each([
    ['a missing member', { ...quote, method: undefined }, /method/],
    ['a member of another type', { ...quote, debitAmount: { ...usd('1'), value: 1 } }, /debitAmount\/value/],
    ['an amount beyond 64 bits', { ...quote, debitAmount: usd('18446744073709551616') }, /uint64/],
    ['an amount with a leading zero', { ...quote, debitAmount: usd('01') }, /uint64/],
    ['a time that is none', { ...quote, createdAt: 'yesterday' }, /date-time/],
    ['a URL that is none', { ...quote, walletAddress: 'alice' }, /walletAddress/],
    ['a member too many', { ...quote, internalId: 1 }, /internalId/],
    ['a body that is no JSON', '{', /POST \/quotes/],
    ['no body', undefined, /no media type/]
  ])('is broken by %s', (_name, body, expected) => {
    expect(violations('POST /quotes', 201, body).join()).toMatch(expected)
  })

  it('is violated by an undescribed member at any depth, even in an open schema', () => {
    const created = { ...incomingPayment, methods: [], metadata: { anything: { goes: 'here' } } }
    expect(violations('POST /incoming-payments', 201, created)).toEqual([])
    expect(violations('POST /incoming-payments', 201, { ...created, accountId: 7 }).join()).toContain(
      'accountId'
    )
    const deep = { ...created, receivedAmount: { ...usd('0'), pending: '5' } }
    expect(violations('POST /incoming-payments', 201, deep).join()).toContain('receivedAmount.pending')
    const own = { ...created, toString: 'mine' }
    expect(violations('POST /incoming-payments', 201, own).join()).toContain('toString')
  })

  it('is violated by another media type, and by an undescribed body', () => {
    expect(violations('POST /quotes', 201, quote, { 'content-type': 'text/html' }).join()).toContain(
      'text/html'
    )
    expect(violations('DELETE /token/1', 204, {}).join()).toContain('none is described')
    expect(violations('HEAD /quotes/1', 200, quote).join()).toContain('none may be')
    expect(violations('GET /quotes/1', 304, quote).join()).toContain('none may be')
    expect(violations('HEAD /quotes/1', 200, undefined)).toEqual([])
  })

  it('is violated by a missing described header', () => {
    expect(violations('GET /quotes/1', 401, error).join()).toContain('WWW-Authenticate is missing')
  })

  it('is violated by a status that is neither described nor decided', () => {
    expect(violations('POST /quotes', 202, undefined).join()).toContain('202 is not described')
    expect(violations('POST /quotes', 418, error).join()).toContain('418 is not described')
  })

  it.each([
    ['more beside the error', { ...error, stack: 'at' }],
    ['more in the error', { error: { ...error.error, stack: 'at' } }],
    ['no code', { error: { description: 'none' } }],
    ['an empty description', { error: { code: '422', description: '' } }],
    ['details that are a list', { error: { ...error.error, details: [] } }],
    ['no error', {}],
    ['no JSON', '<html>']
  ])('is broken by an error with %s, whatever describes the status', (_name, body) => {
    expect(violations('POST /quotes', 422, body)).not.toEqual([])
    expect(violations('POST /quotes', 401, body, challenge)).not.toEqual([])
    expect(violations('GET /who/knows/this', 404, body)).not.toEqual([])
    expect(violations('PUT /who/knows/this', 404, body)).not.toEqual([])
  })

  it('is violated by an undescribed error page', () => {
    expect(violations('POST /quotes', 500, '<html>', { 'content-type': 'text/html' })).not.toEqual([])
  })

  it.each([
    ['an unknown path', 'POST /who/knows/this'],
    ['another method of a known one', 'PUT /quotes/1'],
    ['a question for methods', 'OPTIONS /quotes']
  ])('lets %s have nothing but our errors, whatever their status', (_name, operation) => {
    for (const status of [400, 404, 405, 418, 429, 500]) {
      expect(violations(operation, status, error)).toEqual([])
      expect(violations(operation, status, {})).not.toEqual([])
      expect(violations(operation, status, undefined).join()).toContain('no media type')
      expect(violations(operation, status, 'no', { 'content-type': 'text/plain' }).join()).toContain(
        'text/plain'
      )
      expect(violations(operation, status, '<html>', page).join()).toContain('text/html')
    }
    for (const status of [200, 204, 303]) {
      expect(violations(operation, status, undefined).join()).toContain('is not described, and answered with')
    }
  })

  it('allows only discovery to succeed undescribed', () => {
    expect(violations('OPTIONS https://auth.example/', 200, {})).toEqual([])
    expect(violations('OPTIONS https://auth.example/continue/1', 200, {})).not.toEqual([])
    expect(violations('PUT https://auth.example/', 200, {})).not.toEqual([])
  })

  it('allows error pages only for browsers below /interact', () => {
    const plain = { ...page, 'content-type': 'text/plain' }
    expect(violations('POST /interact/1', 404, '<html>', page)).toEqual([])
    expect(violations('POST /interact/1', 200, '<html>', page)).not.toEqual([])
    expect(violations('POST /interact/1', 404, '<html>', { ...page, accept: '*/*' })).not.toEqual([])
    expect(violations('POST /interact/1', 404, 'no', plain)).not.toEqual([])
    expect(violations('POST /interactive/1', 404, '<html>', page)).not.toEqual([])
  })

  it('is violated by an undescribed error code, except the decided ones', () => {
    const refusal = (code: string) => ({ error: { code, description: 'no' } })
    expect(violations('POST /continue/1', 401, refusal('invalid_client'))).toEqual([])
    expect(violations('POST /continue/1', 401, refusal('user_denied'))).toEqual([])
    expect(violations('POST /continue/1', 401, refusal('invalid_rotation'))).not.toEqual([])
    expect(violations('POST /', 401, refusal('user_denied'))).not.toEqual([])
  })

  it('allows updatedAt in closed answers, except for clients that accept JSON alone', () => {
    const closed: [string, unknown][] = [
      ['POST /incoming-payments/1/complete', { ...incomingPayment, updatedAt }],
      ['GET /incoming-payments', { pagination: pages, result: [{ ...incomingPayment, updatedAt }] }],
      ['GET /outgoing-payments/1', { ...outgoingPayment, updatedAt }],
      ['GET /outgoing-payments', { pagination: pages, result: [{ ...outgoingPayment, updatedAt }] }]
    ]
    for (const [operation, body] of closed) {
      expect(violations(operation, 200, body)).toEqual([])
      expect(violations(operation, 200, body, { accept: '*/*' })).toEqual([])
      expect(violations(operation, 200, body, { accept: 'application/json' }).join()).toContain('updatedAt')
    }
    expect(violations('POST /quotes', 201, { ...quote, updatedAt }).join()).toContain('updatedAt')
  })

  it('allows the access to quotes to name a wallet address, and nothing else that is not described', () => {
    const granted = (item: object) => ({
      access_token: {
        value: 'secret',
        manage: 'https://auth.example/token/1',
        expires_in: 600,
        access: [{ type: 'quote', actions: ['read'], ...item }]
      },
      continue: { access_token: { value: 'secret' }, uri: 'https://auth.example/continue/1' }
    })
    expect(violations('POST /', 200, granted({}))).toEqual([])
    expect(violations('POST /', 200, granted({ identifier: 'https://wallet.example/alice' }))).toEqual([])
    expect(violations('POST /', 200, granted({ owner: 'https://wallet.example/alice' })).join()).toContain(
      'owner'
    )
  })

  it('finds wallet addresses and their keys under any path', () => {
    const walletAddress = {
      id: 'https://wallet.example/a/b',
      assetCode: 'USD',
      assetScale: 2,
      authServer: 'https://auth.example/',
      resourceServer: 'https://wallet.example'
    }
    for (const path of ['/', '/alice', '/a/b']) {
      expect(violations(`GET ${path}`, 200, walletAddress)).toEqual([])
      expect(violations(`GET ${path}`, 200, {})).not.toEqual([])
    }
    expect(violations('GET /alice/jwks.json', 200, { keys: [] })).toEqual([])
    expect(violations('GET /alice/jwks.json', 200, walletAddress)).not.toEqual([])
  })

  it('follows our own descriptions', () => {
    expect(violations('POST /ours/1', 202, undefined)).toEqual([])
    expect(violations('POST /ours/1', 202, { code: 'x' })).toEqual([])
    expect(violations('POST /ours/1', 202, { codes: 'x' })).not.toEqual([])
    expect(violations('POST /ours/1', 303, undefined, { location: 'https://shop.example/' })).toEqual([])
    expect(violations('POST /ours/1', 303, undefined, { location: 'javascript:0' }).join()).toContain(
      'javascript'
    )
    expect(violations('POST /ours/1', 303, undefined).join()).toContain('Location is missing')
    expect(violations('POST /ours/1', 403, '<html>', { 'content-type': 'text/html' })).toEqual([])
    expect(violations('POST /ours/1', 403, {})).not.toEqual([])
  })

  it("does not apply to operators' endpoints", () => {
    expect(violations('GET /readyz', 503, { status: 'not ready', unavailable: ['database'] })).toEqual([])
    expect(violations('OPTIONS /readyz', 200, 'GET', { 'content-type': 'text/plain' })).not.toEqual([])
  })
})

const pages = { hasNextPage: false, hasPreviousPage: false }
const outgoingPayment = {
  id: 'https://wallet.example/outgoing-payments/1',
  walletAddress: 'https://wallet.example/alice',
  failed: false,
  receiver: 'https://wallet.example/incoming-payments/1',
  receiveAmount: usd('100'),
  debitAmount: usd('105'),
  sentAmount: usd('0'),
  createdAt: '2026-11-21T10:00:00.000Z'
}
