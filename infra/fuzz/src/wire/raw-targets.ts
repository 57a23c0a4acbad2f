import { connectRaw, parseAnswers, type RawAnswer } from '@open-payments-server/testing'
import fc from 'fast-check'
import { bareItem, dictionary } from '../generators/structured-fields.js'
import { anyText, grown, mutated, oddPiece } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustHold, target } from '../target.js'
import { checkAnswer } from './answers.js'
import type { World } from './world.js'

/** Longest header section that a listener takes, in bytes. */
const HEADER_BYTES_MAX = 16_384
/** Longest request target that a listener takes, in characters. */
const TARGET_LENGTH_MAX = 8_192
/** What of the header section is left for a single value, in characters. */
const HEADER_VALUE_LENGTH_MAX = HEADER_BYTES_MAX - 1_024

/** A request as it is written. */
interface RawRequest {
  readonly host: string
  readonly port: number
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

const METHODS = [
  'GET',
  'GET',
  'GET',
  'GET',
  'POST',
  'POST',
  'HEAD',
  'OPTIONS',
  'DELETE',
  'PUT',
  'PATCH',
  'TRACE',
  'get',
  'PROPFIND'
] as const

const UUID = '0190a8b1-0000-7000-8000-000000000001'
const PATHS = [
  '/',
  '/',
  '/alice',
  '/alice',
  '/bob',
  '/alice/jwks.json',
  '/shop/jwks.json',
  '/.well-known/pay',
  '/.well-known/gnap-as-rs',
  '/healthz',
  '/readyz',
  '/incoming-payments',
  `/incoming-payments/${UUID}`,
  `/incoming-payments/${UUID}/complete`,
  '/quotes',
  `/quotes/${UUID}`,
  '/outgoing-payments',
  `/outgoing-payments/${UUID}`,
  '/outgoing-payment-grant',
  `/continue/${UUID}`,
  `/token/${UUID}`,
  `/interact/${UUID}/nonce`,
  `/interact/${UUID}/nonce/finish`,
  `/grant/${UUID}/nonce`,
  `/grant/${UUID}/nonce/accept`,
  `/grant/${UUID}/nonce/reject`,
  '/%',
  '/%00',
  '/%2e%2e/alice',
  '/..;/alice',
  '//',
  '/alice?',
  '*',
  'http://localhost/alice',
  '/\\alice'
] as const

const pathPiece = fc.oneof(
  fc.constantFrom('/', '//', '/.', '%2F', '%00', '%', '?', '&a=b', ';', ':id', '\\', '..'),
  oddPiece
)
const targets = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom<string>(...PATHS) },
  { weight: 6, arbitrary: mutated(fc.constantFrom<string>(...PATHS), pathPiece) },
  {
    weight: 1,
    arbitrary: grown(pathPiece, TARGET_LENGTH_MAX, fc.constantFrom('/', '/alice/', '/alice?', '/interact/'))
  }
)

const VALUES: readonly (readonly [name: string, ...values: [string, ...string[]]])[] = [
  ['accept', 'application/json', '*/*', 'text/html', 'text/html;q=0.9,application/json;q=0', ',;,;q=2'],
  ['accept-language', 'en', '*;q=0.1,de'],
  ['accept-encoding', 'gzip', '*;q=0'],
  ['authorization', 'GNAP abc', 'gnap  abc', 'Bearer abc', 'GNAP', 'GNAP a b'],
  ['content-type', 'application/json', 'text/plain', 'multipart/form-data; boundary=a', ';'],
  ['content-encoding', 'gzip', 'identity', 'br, gzip'],
  ['cookie', 'interaction=abc', '=;=', 'interaction=%', '__proto__=a'],
  ['content-digest', 'sha-256=:AAAA:', 'sha-256=1'],
  ['signature', 'sig1=:AAAA:', 'sig1=()'],
  ['signature-input', 'sig1=("@method");created=1', 'sig1=1'],
  ['idempotency-key', UUID, 'a'.repeat(256)],
  ['if-none-match', '*', '"a"', 'W/"a", "b', '"'],
  ['if-modified-since', 'Sat, 01 Jan 2000 00:00:00 GMT', '0'],
  ['cache-control', 'no-cache', 'no-cache,,'],
  ['range', 'bytes=0-0', 'bytes=-1'],
  ['origin', 'null', 'https://evil.example'],
  ['access-control-request-method', 'POST', ''],
  ['x-forwarded-for', '127.0.0.1', '::1, 1.1.1.1', 'unknown'],
  ['x-forwarded-proto', 'https', 'javascript'],
  ['forwarded', 'for=127.0.0.1;proto=https', 'for="[::1'],
  ['x-http-method-override', 'DELETE'],
  ['x-idp-secret', 'the secret', '', 'wrong'],
  ['host', 'localhost', 'evil.example', '', '[::1', 'a@b'],
  ['expect', '100-continue', 'a miracle'],
  ['x-odd', '1', '\x80\xff']
]

function header([name, ...values]: (typeof VALUES)[number]): fc.Arbitrary<readonly [string, string]> {
  const known = fc.constantFrom(...values)
  const value = fc.oneof(
    { weight: 8, arbitrary: known },
    { weight: 4, arbitrary: mutated(known) },
    { weight: 2, arbitrary: fc.oneof(dictionary, bareItem) }
  )
  return value.map((text) => [name, text] as const)
}

const headers: fc.Arbitrary<(readonly [name: string, value: string])[]> = fc.oneof(
  { weight: 16, arbitrary: fc.array(fc.oneof(...VALUES.map(header)), { maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...VALUES.map(([name]) => name)),
        grown(
          fc.oneof(fc.constantFrom(',', ';', ' ', '"', 'a', '=', 'a/b,', ', "'), oddPiece),
          HEADER_VALUE_LENGTH_MAX
        )
      )
      .map((one) => [one])
  },
  {
    weight: 1,
    arbitrary: fc.nat(120).map((count) => Array.from({ length: count }, () => ['x-many', '1'] as const))
  }
)

const contents = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('', '{}', '{"reason":"no"}', '{') },
  { weight: 1, arbitrary: anyText }
)

/** What a connection can carry in one line of a request: Latin-1 without what ends the line. */
function inLine(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '')
}

/** What a listener can take for the target of a request: nothing that ends it. */
function inTarget(text: string): string {
  return inLine(text).replace(/[\t ]/g, '') || '/'
}

/** Where requests go, and what is found there by anyone. */
interface Listener {
  readonly host: string
  readonly port: number
  readonly paths: readonly [string, ...string[]]
}

function listeners({ system }: World): readonly [Listener, ...Listener[]] {
  const port = (url: string): number => Number(new URL(url).port)
  return [
    { host: 'localhost', port: port(system.authServerUrl), paths: ['/.well-known/gnap-as-rs'] },
    {
      host: 'localhost',
      port: port(system.resourceServerUrl),
      paths: ['/alice', '/shop/jwks.json', '/readyz']
    },
    { host: '127.0.0.1', port: port(system.identityProviderUrl()), paths: ['/healthz', '/readyz'] }
  ]
}

function rawRequests(world: World): fc.Arbitrary<RawRequest> {
  const secret = world.system.identityProviderSecret
  const requestsTo = ({ host, port, paths }: Listener): fc.Arbitrary<RawRequest> =>
    fc
      .record({
        method: fc.constantFrom(...METHODS),
        target: fc.oneof(
          { weight: 1, arbitrary: fc.constantFrom(...paths) },
          { weight: 2, arbitrary: targets }
        ),
        headers,
        body: contents
      })
      .map((request) => ({
        ...request,
        host,
        port,
        headers: request.headers.map(
          ([name, value]) => [name, value === 'the secret' ? secret : value] as const
        )
      }))
  return fc.oneof(...listeners(world).map(requestsTo))
}

/** Writes a request that ends where it says, so that it must be answered. */
function write({ method, target: path, headers: some, body }: RawRequest): Buffer {
  const content = Buffer.from(body, 'latin1')
  const given = some.map(([name, value]) => `${name}: ${inLine(value)}`)
  const host = some.some(([name]) => name === 'host') ? [] : ['host: localhost']
  const length = content.length > 0 ? [`content-length: ${String(content.length)}`] : []
  const lines = [`${method} ${inTarget(path)} HTTP/1.1`, ...host, ...given, ...length, 'connection: close']
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content])
}

/** Sends bytes over a connection of their own, and reads what comes until it ends. */
async function exchange(
  { host, port }: Pick<RawRequest, 'host' | 'port'>,
  bytes: Uint8Array,
  isEnded: boolean
): Promise<RawAnswer[]> {
  const { socket, ended } = await connectRaw(port, host)
  // Where the listener may wait for more, it is told that there is none.
  if (isEnded) socket.end(bytes)
  else socket.write(bytes)
  return parseAnswers(await ended)
}

function check({ status, headers: some, body }: RawAnswer, method: string): string {
  return checkAnswer(
    { status, header: (name) => some[name], body: Buffer.from(body, 'latin1').toString() },
    { method }
  )
}

/** Framing that is broken: what follows the first line, or stands in its place. */
const BROKEN = [
  'content-length: 5',
  'content-length: -1',
  'content-length: 1e1',
  'content-length: 99999999999999999999',
  'content-length: 1, 1',
  'content-length: 0\r\ncontent-length: 1',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip',
  'transfer-encoding: chunked, chunked',
  'transfer-encoding: chunked\r\ncontent-length: 1',
  'transfer-encoding : chunked',
  ' folded: a',
  'connection: upgrade\r\nupgrade: websocket',
  'connection: upgrade\r\nupgrade: h2c',
  'no colon',
  ': empty',
  'a b: c',
  'x: \0',
  'expect: 100-continue\r\ncontent-length: 9'
] as const
const FIRST_LINES = [
  'GET / HTTP/1.1',
  'GET /alice HTTP/1.1',
  'POST / HTTP/1.1',
  'POST /quotes HTTP/1.1',
  'GET / HTTP/1.0',
  'GET / HTTP/2.0',
  'GET / HTTP/9.9',
  'GET /',
  'PRI * HTTP/2.0',
  'CONNECT localhost:1 HTTP/1.1',
  'GET  / HTTP/1.1',
  '\r\n\r\nGET / HTTP/1.1',
  '\x16\x03\x01\x02\x00',
  'GET / HTTP/1.1\n'
] as const
const CHUNKS = [
  '',
  '0\r\n\r\n',
  '1\r\na\r\n0\r\n\r\n',
  'fffffffff\r\n',
  '-1\r\n',
  '1;a=b\r\na\r\n0\r\n\r\n',
  `1;${'a'.repeat(20_000)}\r\na\r\n`,
  '0\r\nx: y\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  '{}'
] as const

const brokenMessages = fc
  .tuple(
    fc.constantFrom<string>(...FIRST_LINES),
    fc.array(fc.constantFrom<string>(...BROKEN), { maxLength: 2 }),
    fc.constantFrom<string>(...CHUNKS)
  )
  .map(([first, lines, rest]) => `${[first, 'host: localhost', ...lines].join('\r\n')}\r\n\r\n${rest}`)

/** What anyone can send to a listener: requests that nobody signed, and what is no request. */
export function rawTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'requests over HTTP',
      share: 65,
      acceptedMin: 0.05,
      cases: () => rawRequests(world()),
      async attack(request) {
        const [answer, ...others] = await exchange(request, write(request), false)
        mustHold(answer !== undefined && others.length === 0, 'a request is answered once')
        // A request that is too broken for its method to be known is answered as any other.
        const outcome = answer === undefined ? '' : check(answer, request.method)
        return Number(outcome) < 400 ? ACCEPTED : outcome
      }
    }),
    target({
      name: 'broken messages over HTTP',
      share: 15,
      acceptedMin: 0,
      cases: () =>
        fc.record({
          listener: fc.constantFrom(...listeners(world())),
          text: fc.oneof(
            { weight: 2, arbitrary: brokenMessages },
            { weight: 1, arbitrary: mutated(brokenMessages) }
          )
        }),
      async attack({ listener, text }) {
        const answers = await exchange(listener, Buffer.from(text, 'latin1'), true)
        const outcomes = answers.map((answer) => check(answer, text.startsWith('HEAD') ? 'HEAD' : 'GET'))
        return outcomes.at(-1) ?? 'no answer'
      }
    })
  ]
}
