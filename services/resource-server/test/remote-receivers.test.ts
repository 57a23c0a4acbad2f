import { setTimeout as delay } from 'node:timers/promises'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createSafeHttpClient, type SafeHttpClient } from '@open-payments-server/http-client'
import { createTestKey, TestClock } from '@open-payments-server/testing'
import {
  createClientIdentity,
  createReceiverReader,
  type GrantStore,
  type ProviderGrant,
  type ReceiverReader,
  type ReceiverReaderDependencies,
  type ReceiverReading
} from '../src/other-providers/index.js'
import { type Answer, type OtherProvider, startOtherProvider } from './support/other-provider.js'

const CLIENT = 'https://here.example/.well-known/pay'
const KEY = createTestKey('2026-11')
const IDENTITY = createClientIdentity({ walletAddress: CLIENT, keys: [KEY] })
const SECRET = Buffer.alloc(32, 7)

let clock: TestClock
let provider: OtherProvider
let store: GrantStore & { readonly grants: Map<string, ProviderGrant> }
let http: SafeHttpClient
let reader: ReceiverReader

beforeEach(async () => {
  clock = new TestClock()
  provider = await startOtherProvider(KEY.jwk, clock)
  store = memoryStore()
  http = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: 2_000,
    bodyBytesMax: 65_536,
    userAgent: 'test'
  })
  reader = makeReader()
})
afterEach(async () => {
  await provider.stop()
  await http.close()
})

function memoryStore(): GrantStore & { readonly grants: Map<string, ProviderGrant> } {
  const grants = new Map<string, ProviderGrant>()
  return {
    grants,
    find: (authServer) => Promise.resolve(grants.get(authServer)),
    async save(authServer, grant) {
      grants.set(authServer, grant)
    },
    async forget(authServer) {
      grants.delete(authServer)
    }
  }
}

function makeReader(options: Partial<ReceiverReaderDependencies> = {}): ReceiverReader {
  return createReceiverReader({
    http,
    identity: IDENTITY,
    store,
    clock,
    random: { bytes: randomBytes },
    ...options
  })
}

const read = (url = provider.url): Promise<ReceiverReading> => reader.readReceiver(url)

/** Outcome and, for a failure, its field. */
async function outcome(reading = read()): Promise<string> {
  const result = await reading
  return 'failure' in result ? `${result.kind}: ${result.failure.field}` : result.kind
}

const html = (response: ServerResponse): unknown =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
const redirect = (response: ServerResponse): unknown =>
  response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
const silence = (): undefined => undefined
const status = (code: number): Answer => ({ status: code, body: {} })

describe('an incoming payment at another provider', () => {
  it('is read with a grant of our own, and signed requests', async () => {
    expect(await read()).toEqual({
      kind: 'found',
      receiver: {
        url: provider.url,
        walletAddressUrl: 'https://wallet.example/bob',
        asset: { code: 'USD', scale: 2 },
        incomingValue: 2_500n,
        receivedValue: 1_234n,
        completed: false,
        expiresAtMs: Date.parse('2099-04-12T23:20:50.520Z'),
        credentials: { ilpAddress: 'test.other.98y08y', sharedSecret: SECRET }
      }
    })
    const [publicRead, grant, signedRead] = provider.arrived
    expect(publicRead).toMatchObject({ part: 'public', token: undefined })
    expect(grant).toMatchObject({ part: 'grant', token: undefined })
    expect(JSON.parse(grant?.body ?? '')).toEqual({
      access_token: { access: [{ type: 'incoming-payment', actions: ['read-all'] }] },
      client: CLIENT
    })
    expect(grant?.headers['signature-input']).toMatch(
      /^sig1=\("@method" "@target-uri" "content-digest" "content-length" "content-type"\);keyid="2026-11";created=\d+$/
    )
    expect(signedRead).toMatchObject({ part: 'payment', token: 'token-1' })
    expect(signedRead?.headers['signature-input']).toMatch(
      /^sig1=\("@method" "@target-uri" "authorization"\);/
    )
    expect(provider.arrived).toHaveLength(3)
  })

  it('may be open, without expiry, and of the largest amounts', async () => {
    const receivedAmount = { value: '18446744073709551615', assetCode: 'X'.repeat(32), assetScale: 255 }
    const { incomingAmount, expiresAt, ...others } = provider.payment
    provider.payment = { ...others, receivedAmount }
    expect(await read()).toMatchObject({
      kind: 'found',
      receiver: {
        asset: { code: 'X'.repeat(32), scale: 255 },
        incomingValue: undefined,
        receivedValue: 2n ** 64n - 1n,
        expiresAtMs: undefined
      }
    })
    expect([incomingAmount, expiresAt]).not.toContain(undefined)
  })

  it.each([
    ['without methods', undefined],
    ['with none', []]
  ])('is found when it is completed, %s', async (_how, methods) => {
    provider.payment = { ...provider.payment, completed: true, methods }
    expect(await read()).toMatchObject({
      kind: 'found',
      receiver: { completed: true, credentials: undefined }
    })
  })

  it('is found when it cannot be paid over Interledger', async () => {
    provider.payment.methods = [{ type: 'another' }]
    expect(await read()).toMatchObject({
      kind: 'found',
      receiver: { completed: false, credentials: undefined }
    })
  })

  it('is read at a URL with a query', async () => {
    const url = `${provider.url}?from=%C3%A4`
    provider.payment.id = url
    expect(await outcome(read(url))).toBe('found')
  })

  it.each<[string, () => Promise<void>]>([
    ['there is none', async () => provider.answer('public', status(404))],
    ['it is gone', async () => provider.answer('public', status(410))],
    ['nobody may see that there is none', async () => provider.answer('public', status(401))],
    ['it is gone by the time that it is read', async () => provider.answer('payment', status(404))],
    ['there is a page for people', async () => provider.answer('public', html)],
    ['there is something else', async () => provider.answer('public', { body: { keys: [] } })],
    ['there is no object', async () => provider.answer('public', { body: null })]
  ])('is not found where %s', async (_what, arrange) => {
    await arrange()
    expect(await outcome()).toBe('not-found')
  })

  it('is not read from an address that may not be asked', async () => {
    expect(await outcome(read('ftp://other.example/incoming-payments/1'))).toBe('invalid: incoming payment')
    for (const authServer of [
      '',
      'file:///etc/passwd',
      'http://me@127.0.0.1/',
      `http://127.0.0.1/${'a'.repeat(2_048)}`
    ]) {
      provider.answer('public', { body: { authServer } })
      expect(await outcome()).toBe('invalid: authServer')
    }
    expect(provider.count('grant')).toBe(0)
    const production = createSafeHttpClient({
      allowPrivateNetworks: false,
      timeoutMs: 2_000,
      bodyBytesMax: 65_536,
      userAgent: 'test'
    })
    reader = makeReader({ http: production })
    const before = provider.arrived.length
    expect(await outcome()).toBe('invalid: public incoming payment')
    expect(provider.arrived).toHaveLength(before)
    await production.close()
  })

  it('is read without its public form where another payment of the host named the auth server', async () => {
    expect(await outcome()).toBe('found')
    expect(await outcome()).toBe('found')
    expect([provider.count('public'), provider.count('payment'), provider.count('grant')]).toEqual([1, 2, 1])
  })

  it('is asked for its auth server again where the token of the known one is refused', async () => {
    expect(await outcome()).toBe('found')
    const { accessToken } = store.grants.get(provider.authServer) ?? {}
    provider.answer('payment', status(401), { body: provider.payment })
    expect(await outcome()).toBe('found')
    expect([provider.count('public'), provider.count('grant')]).toEqual([2, 1])
    expect(store.grants.get(provider.authServer)?.accessToken).toBe(accessToken)
  })

  it('is read again after answers that pass, at most three times', async () => {
    provider.answer('public', status(503), status(429), { body: { authServer: provider.authServer } })
    provider.answer('payment', status(408), { body: provider.payment })
    expect(await outcome()).toBe('found')
    expect([provider.count('public'), provider.count('payment')]).toEqual([3, 2])
    provider.answer('public', status(500))
    reader = makeReader()
    expect(await outcome()).toBe('unreachable: public incoming payment')
    expect(provider.count('public')).toBe(6)
  })

  it('is read again after a connection that broke', async () => {
    provider.answer('payment', (response) => response.destroy(), { body: provider.payment })
    expect(await outcome()).toBe('found')
    expect(provider.count('payment')).toBe(2)
  })

  it.each([400, 402, 409])('is not read again after status %p, which is a refusal', async (code) => {
    provider.answer('payment', status(code))
    expect(await outcome()).toBe('refused: incoming payment')
    expect(provider.count('payment')).toBe(1)
  })

  it('is unreachable when its provider is down, or never answers', async () => {
    provider.answer('payment', silence)
    reader = makeReader({ timeoutMs: 300 })
    expect(await outcome()).toBe('unreachable: time limit')
    await provider.stop()
    reader = makeReader()
    expect(await outcome()).toBe('unreachable: public incoming payment')
  })

  it('is no longer waited for when its reader gives up', async () => {
    const reason = new Error('no longer wanted')
    const abort = new AbortController()
    provider.answer('payment', () => {
      abort.abort(reason)
    })
    await expect(reader.readReceiver(provider.url, { signal: abort.signal })).rejects.toBe(reason)
    await expect(reader.readReceiver(provider.url, { signal: abort.signal })).rejects.toBe(reason)
  })
})

describe('a token', () => {
  it('is requested once for all who need it at the same time, and used until it ends', async () => {
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => outcome()))
    expect(new Set(outcomes)).toEqual(new Set(['found']))
    expect(provider.count('grant')).toBe(1)
    clock.advanceSeconds(500)
    expect(await outcome()).toBe('found')
    expect(provider.count('grant')).toBe(1)
    clock.advanceSeconds(101)
    expect(await outcome()).toBe('found')
    expect([provider.count('grant'), provider.count('rotation')]).toEqual([2, 0])
  })

  it('is kept in the store, for the next start', async () => {
    await read()
    expect([...store.grants]).toEqual([
      [
        provider.authServer,
        {
          accessToken: 'token-1',
          manageUrl: `${provider.authServer}token/token-1`,
          obtainedAtMs: clock.now(),
          expiresAtMs: clock.now() + 600_000
        }
      ]
    ])
    reader = makeReader()
    expect(await outcome()).toBe('found')
    expect(provider.count('grant')).toBe(1)
  })

  it('is rotated shortly before it ends, once for all', async () => {
    await read()
    clock.advanceSeconds(541)
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcome()))
    expect(new Set(outcomes)).toEqual(new Set(['found']))
    expect([provider.count('grant'), provider.count('rotation')]).toEqual([1, 1])
    const rotation = provider.arrived.find(({ part }) => part === 'rotation')
    expect(rotation).toMatchObject({ method: 'POST', token: 'token-1', body: '' })
    expect(store.grants.get(provider.authServer)).toMatchObject({ accessToken: 'token-2' })
  })

  it('is requested anew when its rotation is refused, and used on when the auth server is down meanwhile', async () => {
    await read()
    clock.advanceSeconds(541)
    provider.answer('rotation', status(503))
    expect(await outcome()).toBe('found')
    expect([provider.count('grant'), provider.count('rotation')]).toEqual([1, 1])
    provider.answer('rotation', status(404))
    expect(await outcome()).toBe('found')
    expect([provider.count('grant'), provider.count('rotation')]).toEqual([2, 2])
  })

  it('is taken from another replica that has rotated it', async () => {
    await read()
    const other = makeReader()
    clock.advanceSeconds(541)
    expect(await outcome(other.readReceiver(provider.url))).toBe('found')
    expect(await outcome()).toBe('found')
    expect([provider.count('grant'), provider.count('rotation')]).toEqual([1, 1])
  })

  it('without an end is used until it is refused', async () => {
    provider.tokenSeconds = undefined
    await read()
    clock.advanceSeconds(100_000_000)
    await read()
    expect([provider.count('grant'), provider.count('rotation')]).toEqual([1, 0])
  })

  it.each([401, 403])('that is refused with %p is replaced once for all who use it', async (code) => {
    await read()
    provider.answer('payment', (response) => {
      const isRefused = response.req.headers.authorization === 'GNAP token-1'
      response.writeHead(isRefused ? code : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isRefused ? {} : provider.payment))
    })
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcome()))
    expect(new Set(outcomes)).toEqual(new Set(['found']))
    expect(provider.count('grant')).toBe(2)
    expect(store.grants.get(provider.authServer)).toMatchObject({ accessToken: 'token-2' })
  })

  it('that was revoked is replaced', async () => {
    await read()
    provider.revokeTokens()
    expect(await outcome()).toBe('found')
    expect(provider.count('grant')).toBe(2)
  })

  it('is replaced once, and then the refusal counts', async () => {
    provider.answer('payment', status(401))
    expect(await outcome()).toBe('refused: incoming payment')
    expect([provider.count('grant'), provider.count('payment')]).toEqual([2, 2])
  })

  it('is not requested without end for one who refuses every token', async () => {
    provider.answer('payment', status(403))
    for (let count = 0; count < 5; count += 1) expect(await outcome()).toBe('refused: incoming payment')
    expect(provider.count('grant')).toBe(2)
    clock.advanceSeconds(10)
    await read()
    expect(provider.count('grant')).toBe(3)
  })

  it.each<[string, Answer | (() => Answer), string]>([
    [
      'wants a person to interact',
      { body: { interact: { redirect: 'http://x/' } } },
      'refused: grant answer: interact'
    ],
    ['refuses', status(400), 'refused: grant answer'],
    ['does not know us', status(401), 'refused: grant answer'],
    ['answers with a page', html, 'invalid: grant answer'],
    ['redirects', redirect, 'invalid: grant answer'],
    ['fails', status(500), 'unreachable: grant answer'],
    ['limits us', status(429), 'unreachable: grant answer'],
    ['hangs up', (response: ServerResponse) => response.destroy(), 'unreachable: grant answer'],
    ['answers with nothing', { body: {} }, 'invalid: grant answer: access_token'],
    ['answers with a list', { body: [] }, 'invalid: grant answer: the document'],
    [
      'answers with tokens',
      { body: { access_token: [{ value: 'a' }] } },
      'invalid: grant answer: access_token'
    ],
    [
      'answers with a token that is no header',
      { body: { access_token: { value: 'a\r\nx: y' } } },
      'invalid: grant answer: access_token.value'
    ],
    [
      'answers with an endless token',
      { body: { access_token: { value: 'a'.repeat(4_097) } } },
      'invalid: grant answer: access_token.value'
    ],
    [
      'answers with a token that has ended',
      { body: { access_token: { value: 'a', expires_in: 0 } } },
      'invalid: grant answer: access_token.expires_in'
    ],
    [
      'names no URL for managing it',
      { body: { access_token: { value: 'a', manage: 'token/1', expires_in: 600 } } },
      'invalid: grant answer: access_token.manage'
    ],
    [
      'hides its token in a prototype',
      (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"__proto__":{"access_token":{"value":"a"}}}'),
      'invalid: grant answer: access_token'
    ]
  ])('is not got from an auth server that %s, and not asked for again', async (_what, answer, expected) => {
    provider.answer('grant', answer)
    expect(await outcome()).toBe(expected)
    expect([provider.count('grant'), provider.count('payment')]).toEqual([1, 0])
    expect(store.grants.size).toBe(0)
  })

  it('is not waited for without end', async () => {
    provider.answer('grant', silence)
    reader = makeReader({ timeoutMs: 300 })
    expect(await outcome()).toBe('unreachable: time limit')
  })

  it('is asked for again if the request for it certainly did not leave', async () => {
    let attempts = 0
    reader = makeReader({
      http: {
        ...http,
        postJson: (...asked) => {
          attempts += 1
          return attempts < 3 ? http.postJson('http://127.0.0.1:1/') : http.postJson(...asked)
        }
      }
    })
    expect(await outcome()).toBe('found')
    expect([attempts, provider.count('grant')]).toEqual([3, 1])
  })

  it('never goes to a foreign host, even after a rotation', async () => {
    const foreign = await startOtherProvider(KEY.jwk, clock)
    const token = (value: string): Answer => ({
      body: { access_token: { value, manage: `${foreign.authServer}token/1`, expires_in: 600 } }
    })
    await read()
    clock.advanceSeconds(541)
    provider.answer('payment', { body: provider.payment })
    provider.answer('rotation', token('a'))
    expect(await outcome()).toBe('found')
    // It is used until it ends: what it names is not asked for another one.
    clock.advanceSeconds(541)
    expect([await outcome(), provider.count('rotation'), provider.count('grant')]).toEqual(['found', 1, 1])
    clock.advanceSeconds(60)
    provider.answer('grant', token('b'))
    expect([await outcome(), provider.count('rotation'), provider.count('grant')]).toEqual(['found', 1, 2])
    expect(foreign.arrived).toEqual([])
    await foreign.stop()
  })

  it('outlives a caller that gives up while it is requested', async () => {
    const abort = new AbortController()
    provider.answer('grant', (response) => {
      abort.abort(new Error('no longer wanted'))
      setTimeout(() => {
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"access_token":{"value":"late","expires_in":600}}')
      }, 100)
    })
    const impatient = reader.readReceiver(provider.url, { signal: abort.signal })
    await expect(impatient).rejects.toThrow('no longer wanted')
    while (!store.grants.has(provider.authServer)) await delay(5)
    expect(store.grants.get(provider.authServer)).toMatchObject({ accessToken: 'late' })
  })
})

describe('a document that lies', () => {
  const amount = (value: unknown, assetCode: unknown = 'USD', assetScale: unknown = 2): object => ({
    value,
    assetCode,
    assetScale
  })
  const ilp = (changes: object): object[] => [
    { type: 'ilp', ilpAddress: 'test.other.1', sharedSecret: SECRET.toString('base64url'), ...changes }
  ]

  it.each<[string, object]>([
    ['id', { id: undefined }],
    ['id', { id: 'not a url' }],
    ['id', { id: 'https://evil.example/incoming-payments/2f1b0150-db73-49e8-8713-628baa4a17ff' }],
    ['walletAddress', { walletAddress: undefined }],
    ['walletAddress', { walletAddress: 'javascript:alert(1)' }],
    ['walletAddress', { walletAddress: `https://wallet.example/${'a'.repeat(2_048)}` }],
    ['completed', { completed: 'no' }],
    ['completed', { completed: undefined }],
    ['receivedAmount', { receivedAmount: undefined }],
    ['receivedAmount.value', { receivedAmount: amount(1) }],
    ['receivedAmount.value', { receivedAmount: amount('-1') }],
    ['receivedAmount.value', { receivedAmount: amount('1e3') }],
    ['receivedAmount.value', { receivedAmount: amount('18446744073709551616') }],
    ['receivedAmount.value', { receivedAmount: amount('9'.repeat(50_000)) }],
    ['receivedAmount.assetCode', { receivedAmount: amount('1', '') }],
    ['receivedAmount.assetCode', { receivedAmount: amount('1', 'A'.repeat(33)) }],
    ['receivedAmount.assetScale', { receivedAmount: amount('1', 'USD', 256) }],
    ['receivedAmount.assetScale', { receivedAmount: amount('1', 'USD', -1) }],
    ['receivedAmount.assetScale', { receivedAmount: amount('1', 'USD', 1.5) }],
    ['incomingAmount', { incomingAmount: null }],
    ['incomingAmount.value', { incomingAmount: amount('18446744073709551616') }],
    ['expiresAt', { expiresAt: 'tomorrow' }],
    ['expiresAt', { expiresAt: 4_102_444_800_000 }],
    ['methods', { methods: {} }],
    ['methods', { methods: Array.from({ length: 33 }, () => ({ type: 'another' })) }],
    ['methods.0', { methods: ['ilp'] }],
    ['methods.0', { methods: [null] }],
    ['methods.0.type', { methods: [{}] }],
    ['methods.0.ilpAddress', { methods: ilp({ ilpAddress: undefined }) }],
    ['methods.0.ilpAddress', { methods: ilp({ ilpAddress: '' }) }],
    ['methods.0.ilpAddress', { methods: ilp({ ilpAddress: 'g.other..1' }) }],
    ['methods.0.ilpAddress', { methods: ilp({ ilpAddress: 'x.other.1' }) }],
    ['methods.0.ilpAddress', { methods: ilp({ ilpAddress: `g.${'a'.repeat(1_022)}` }) }],
    ['methods.0.sharedSecret', { methods: ilp({ sharedSecret: Buffer.alloc(31).toString('base64url') }) }],
    ['methods.0.sharedSecret', { methods: ilp({ sharedSecret: Buffer.alloc(33).toString('base64url') }) }],
    ['methods.0.sharedSecret', { methods: ilp({ sharedSecret: `${'A'.repeat(42)}B` }) }],
    ['methods.0.sharedSecret', { methods: ilp({ sharedSecret: `${'A'.repeat(42)}=` }) }],
    ['methods.0.sharedSecret', { methods: ilp({ sharedSecret: Buffer.alloc(32, 0xff).toString('base64') }) }],
    ['methods.0.sharedSecret', { methods: ilp({ sharedSecret: 'A'.repeat(60_000) }) }],
    ['methods.1.sharedSecret', { methods: [...ilp({}), ...ilp({ sharedSecret: '' })] }]
  ])('is invalid because of its %s (case %#)', async (field, changes) => {
    provider.payment = { ...provider.payment, ...changes }
    expect(await outcome()).toBe(`invalid: ${field}`)
  })

  it.each([
    ['codes', amount('2500', 'EUR')],
    ['scales', amount('2500', 'USD', 3)]
  ])('is invalid because its amounts have two asset %s', async (_what, incomingAmount) => {
    provider.payment.incomingAmount = incomingAmount
    expect(await outcome()).toBe('invalid: incomingAmount')
  })

  it.each([
    ['another spelling of its id', (url: string) => url.replace('http:', 'HTTP:')],
    ['the id of its neighbour', (url: string) => url.replace(/f$/, 'e')],
    ['an id of its own with a query', (url: string) => `${url}?x=1`]
  ])('is invalid because of %s', async (_what, change) => {
    provider.payment.id = change(provider.url)
    expect(await outcome()).toBe('invalid: id')
  })

  it.each(['null', '[]', '"text"', '1'])('is invalid because it is %s', async (text) => {
    provider.answer('payment', { body: JSON.parse(text) as unknown })
    expect(await outcome()).toBe('invalid: the document')
  })

  it('is invalid because its members are in its prototype, which stays as it is', async () => {
    provider.answer('payment', (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"__proto__":${JSON.stringify(provider.payment)}}`)
    )
    expect(await outcome()).toBe('invalid: id')
    const { receivedAmount, ...others } = provider.payment
    provider.answer('payment', (response) => {
      const text = JSON.stringify({ ...others, constructor: { prototype: { receivedAmount } } })
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(text.replace('{', `{"__proto__":{"receivedAmount":${JSON.stringify(receivedAmount)}},`))
    })
    expect(await outcome()).toBe('invalid: receivedAmount')
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('is not read beyond 64 KB', async () => {
    provider.answer('payment', { body: { ...provider.payment, metadata: 'x'.repeat(10_000_000) } })
    expect(await outcome()).toBe('invalid: incoming payment')
    provider.answer('public', { body: { authServer: provider.authServer, more: 'x'.repeat(10_000_000) } })
    reader = makeReader()
    expect(await outcome()).toBe('invalid: public incoming payment')
  })

  it('is not followed elsewhere', async () => {
    provider.answer('payment', redirect)
    expect(await outcome()).toBe('invalid: incoming payment')
    provider.answer('public', redirect)
    reader = makeReader()
    expect(await outcome()).toBe('invalid: public incoming payment')
  })

  it('leaves nothing of a token in what is logged', async () => {
    const answer =
      (text: string): Answer =>
      (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    provider.answer('grant', answer('{"access_token":{"value":"SECRET"x'))
    const results = [await read()]
    provider.answer('grant', {
      body: { access_token: { value: 'SECRET', manage: 'SECRET' } }
    })
    results.push(await read())
    provider.answer('grant', { body: { access_token: { value: 'SECRET' } } })
    provider.answer('payment', answer('SECRET'))
    results.push(await read())
    provider.answer('payment', (response) => response.socket?.end('SECRET\r\n\r\n'))
    results.push(await read())
    for (const result of results) {
      expect(result.kind).toBe('invalid')
      const { failure } = result as Extract<ReceiverReading, { failure: unknown }>
      expect(
        [failure.message, failure.field, String(failure.cause), String(failure.stack)].join()
      ).not.toContain('SECRET')
      expect(failure.cause).toBeUndefined()
    }
  })
})
