import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import { type RawAnswer, sendRaw } from '@open-payments-server/testing'
import { requestToken } from '../src/consent.js'
import { createReceiver } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

const CLOSE = 'Host: localhost\r\nConnection: close\r\n'
const get = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\n${CLOSE}${headers}\r\n`
const post = (headers: string, body: string): string => `POST / HTTP/1.1\r\n${CLOSE}${headers}\r\n${body}`

/** A listener: its address, its error code for bad requests, and an existing path. */
interface Listener {
  readonly port: number
  readonly host: string
  readonly codeOf: (status: number) => string
  readonly there: string
}

let system: System
let token: string

beforeAll(async () => {
  system = await startSystem()
  token = (await createReceiver(system, system.shop)).token
})
afterAll(() => system.stop())

const listeners: readonly [name: string, find: () => Listener][] = [
  [
    'the auth server',
    () => ({
      port: Number(new URL(system.authServerUrl).port),
      host: 'localhost',
      codeOf: () => 'invalid_request',
      there: '/.well-known/gnap-as-rs'
    })
  ],
  [
    'the listener for identity providers',
    () => ({
      port: Number(new URL(system.identityProviderUrl()).port),
      host: '127.0.0.1',
      codeOf: () => 'invalid_request',
      there: '/healthz'
    })
  ],
  [
    'the resource server',
    () => ({
      port: Number(new URL(system.resourceServerUrl).port),
      host: 'localhost',
      codeOf: (status) => String(status),
      there: '/alice'
    })
  ]
]

const ATTACKS: readonly [what: string, sent: string, status: number][] = [
  ['no HTTP at all', '\x16\x03\x01\x02\x00\x01', 400],
  ['a method in small letters', `post / HTTP/1.1\r\n${CLOSE}\r\n`, 400],
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['two Hosts', `GET / HTTP/1.1\r\n${CLOSE}Host: evil.example\r\n\r\n`, 400],
  ['a tunnel', 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n', 405],
  ['the target of a proxy', get('http://evil.example/'), 400],
  ['an expectation', get('/', 'Expect: the-unexpected\r\n'), 417],
  ['headers that are too large', get('/', `X-Large: ${'x'.repeat(20_000)}\r\n`), 431],
  ['too many headers', get('/', 'X-Many: x\r\n'.repeat(200)), 431],
  ['an address that is too long', get(`/${'x'.repeat(10_000)}`), 414],
  ['a length and chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
  ['two lengths', post('Content-Length: 0\r\nContent-Length: 30\r\n', get('/evil')), 400],
  ['broken chunks', post('Transfer-Encoding: chunked\r\n', 'ffffffffffffffffffff\r\n'), 400],
  ['an unknown transfer coding', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 501],
  ['coded chunks', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
  [
    'two content types',
    post('Content-Type: a/b\r\nContent-Type: application/json\r\nContent-Length: 0\r\n', ''),
    400
  ]
]

describe.each(listeners)('%s', (_name, find) => {
  it.each(ATTACKS)('refuses %s in its own words, and nothing more', async (_what, sent, status) => {
    const { port, host, codeOf } = find()
    const answers = await sendRaw(port, sent, host)
    expect(answers).toHaveLength(1)
    expect(answers[0]).toMatchObject({ status, headers: { connection: 'close' } })
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      error: { code: codeOf(status), description: expect.any(String) }
    })
  })

  it('ignores requests smuggled behind a refused one', async () => {
    const { port, host, there } = find()
    const answers = await sendRaw(port, `GET / HTTP/1.1\r\n\r\n${get(there)}`, host)
    expect(answers.map(({ status }) => status)).toEqual([400])
  })

  it.each(['OPTIONS', 'PUT', 'PATCH', 'TRACE'])(
    'answers %s, which nothing there takes, with 405 and what it takes instead',
    async (method) => {
      const { port, host, codeOf, there } = find()
      const [answer] = await sendRaw(port, get(there).replace('GET', method), host)
      expect(answer?.status).toBe(405)
      expect(answer?.headers.allow).toMatch(/^[A-Z]+(, [A-Z]+)*$/)
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: { code: codeOf(405) } })
    }
  )

  it('goes on afterwards', async () => {
    const { port, host, there } = find()
    expect((await sendRaw(port, get(there), host))[0]?.status).toBe(200)
  })
})

/** A request of the shop, signed for one target and sent to another. */
async function sendSigned(
  method: string,
  target: string,
  options: { signedTarget?: string; body?: string; extraHeaders?: string } = {}
): Promise<RawAnswer | undefined> {
  const { signedTarget = target, body, extraHeaders = '' } = options
  const { jwk, privateKey } = system.shop.key
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const headers: Record<string, string> = {
    authorization: `GNAP ${token}`,
    ...(bytes === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(bytes.length) })
  }
  const targetUri = `${system.resourceServerUrl}${signedTarget}`
  const createdSeconds = Math.floor(system.clock.now() / 1_000)
  const signed = signRequest(
    { method, targetUri, headers, body: bytes },
    { keyId: jwk.kid, privateKey, createdSeconds }
  )
  const lines = Object.entries({ ...headers, ...signed }).map(([name, value]) => `${name}: ${value}\r\n`)
  const text = `${method} ${target} HTTP/1.1\r\n${CLOSE}${lines.join('')}${extraHeaders}\r\n${body ?? ''}`
  const { port } = new URL(system.resourceServerUrl)
  return (await sendRaw(Number(port), text, 'localhost'))[0]
}

describe('a target', () => {
  const listTarget = (): string =>
    `/incoming-payments?wallet-address=${encodeURIComponent(system.walletAddresses.bob)}`

  it('is served under the signed spelling, with or without a trailing slash', async () => {
    expect((await sendSigned('GET', listTarget()))?.status).toBe(200)
    expect((await sendSigned('GET', listTarget().replace('?', '/?')))?.status).toBe(200)
  })

  it('is never served under another spelling than the signed one', async () => {
    const signedTarget = listTarget()
    for (const target of [
      signedTarget.replace('?', '/?'),
      signedTarget.replace('%3A', ':'),
      `${signedTarget}&first=1`
    ]) {
      expect({ target, status: (await sendSigned('GET', target, { signedTarget }))?.status }).toEqual({
        target,
        status: 401
      })
    }
  })

  it.each([
    ['an escaped letter', '/incoming%2dpayments'],
    ['an escaped slash', '/%2fincoming-payments'],
    ['two slashes', '//incoming-payments'],
    ['another case', '/Incoming-Payments'],
    ['a step up', '/quotes/../incoming-payments'],
    ['an escaped step up', '/quotes/%2e%2e/incoming-payments'],
    ['a backslash', '/\\incoming-payments'],
    ['a parameter of the path', '/incoming-payments;a=b'],
    ['an escaped question mark', '/incoming-payments%3f']
  ])('with %s leads to nothing, with a right signature and with none', async (_what, path) => {
    const target = listTarget().replace('/incoming-payments', path)
    const { port } = new URL(system.resourceServerUrl)
    expect((await sendSigned('GET', target))?.status).toBe(404)
    expect((await sendRaw(Number(port), get(target), 'localhost'))[0]?.status).toBe(404)
  })
})

describe('a repeated authentication header is refused:', () => {
  it.each([
    ['authorization', 'Authorization: GNAP another\r\n'],
    ['signature-input', 'Signature-Input: sig2=("@method");created=1;keyid="x"\r\n'],
    ['signature', 'Signature: sig2=:AAAA:\r\n'],
    ['content-digest', 'Content-Digest: sha-256=:AAAA:\r\n']
  ])('%s', async (_name, extraHeaders) => {
    const body = JSON.stringify({ walletAddress: system.walletAddresses.bob })
    expect((await sendSigned('POST', '/incoming-payments', { body }))?.status).toBe(201)
    expect((await sendSigned('POST', '/incoming-payments', { body, extraHeaders }))?.status).toBe(401)
  })
})

describe('a body', () => {
  const create = (metadata: string) =>
    system.shop.request('POST', `${system.resourceServerUrl}/incoming-payments`, {
      accessToken: token,
      body: `{"walletAddress":"${system.walletAddresses.bob}","metadata":${metadata}}`
    })

  it('with names of object properties round-trips', async () => {
    const metadata =
      '{"constructor":{"prototype":{"admin":true}},"toString":"a","hasOwnProperty":1,"prototype":null}'
    const created = await create(metadata)
    expect(created.status).toBe(201)
    const read = await system.shop.request('GET', created.textAt('id'), { accessToken: token })
    expect(read.at('metadata')).toEqual(JSON.parse(metadata))
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })

  it.each([
    ['__proto__', '{"__proto__":{"admin":true}}', 'metadata.__proto__'],
    ['__proto__ further in', '{"a":[{"__proto__":1}]}', 'metadata.a.0.__proto__'],
    ['__proto__ in disguise', '{"\\u005f_proto__":1}', 'metadata.__proto__'],
    ['half a surrogate pair', '{"a":"\\ud83d"}', 'metadata.a'],
    ['the other half', '{"a":"\\ude00\\ud83d"}', 'metadata.a'],
    ['half a surrogate pair in a name', '{"\\udfff":1}', 'metadata'],
    ['NUL', '{"a":"\\u0000"}', 'metadata.a'],
    ['NUL in a name', '{"\\u0000":1}', 'metadata']
  ])('with %s is refused, and the field is named', async (_what, metadata, field) => {
    const answer = await create(metadata)
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.at('error.details') as object)).toEqual([field])
  })

  it('that is compressed, or of another type, is refused by both services', async () => {
    const text = JSON.stringify({ walletAddress: system.walletAddresses.bob })
    const compressed = [
      ['gzip', gzipSync(text)],
      ['deflate', deflateSync(text)],
      ['br', brotliCompressSync(text)],
      ['unheard-of', Buffer.from(text)]
    ] as const
    for (const url of [`${system.resourceServerUrl}/incoming-payments`, system.authServerUrl]) {
      for (const [encoding, body] of compressed) {
        const headers = { 'content-encoding': encoding }
        const answer = await system.shop.request('POST', url, { accessToken: token, body, headers })
        expect({ url, encoding, status: answer.status }).toEqual({ url, encoding, status: 415 })
      }
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/json; charset=utf-16',
        'application/jsonx'
      ]) {
        const headers = { 'content-type': type }
        const answer = await system.shop.request('POST', url, { accessToken: token, body: text, headers })
        expect({ url, type, status: answer.status }).toEqual({ url, type, status: 415 })
      }
    }
  })
})

describe('a list', () => {
  const list = (query: string) =>
    system.shop.request(
      'GET',
      `${system.resourceServerUrl}/incoming-payments?wallet-address=${encodeURIComponent(system.walletAddresses.bob)}&${query}`,
      { accessToken: token }
    )

  it('has at most 100 items of a page', async () => {
    expect((await list('first=100')).status).toBe(200)
    expect((await list('first=101')).status).toBe(400)
  })

  it.each([
    ['one letter', 'a'],
    ['one letter too many', 'A'.repeat(31)],
    ['as long as an address may be', 'A'.repeat(7_000)],
    ['no base64', '%00%ff%2e'],
    ['padding', `${'A'.repeat(30)}%3D%3D`],
    ['a statement', "'%20or%201=1--"],
    ['of the right length, and no position', '_'.repeat(30)]
  ])('refuses a cursor that is %s', async (_what, cursor) => {
    const answer = await list(`cursor=${cursor}`)
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.at('error.details') as object)).toEqual(['cursor'])
  })
})

it('a token issued before still works afterwards', async () => {
  expect(await requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])).toEqual(
    expect.any(String)
  )
})
