import { connectRaw, parseAnswers, type RawAnswer } from '@open-payments-server/testing'
import fc from 'fast-check'
import { TARGET_LENGTH_MAX } from '../generators/lists.js'
import { anyText, attempts, grown, joined, mixed, mutated, oddPiece, word } from '../generators/text.js'
import { type AnyTarget, mustHold, target } from '../target.js'
import { checkAnswer } from './answers.js'
import type { World } from './world.js'

/** Room for a single value in the header section of 16,384 bytes, in characters. */
const HEADER_VALUE_LENGTH_MAX = 15_360

const UUID = '0190a8b1-0000-7000-8000-000000000001'
const paths = word(
  `/ / /alice /alice /bob /alice/jwks.json /shop/jwks.json /.well-known/pay /.well-known/gnap-as-rs /healthz /readyz
  /incoming-payments /incoming-payments/${UUID} /incoming-payments/${UUID}/complete /quotes /quotes/${UUID} /outgoing-payments
  /outgoing-payments/${UUID} /outgoing-payment-grant /continue/${UUID} /token/${UUID} /interact/${UUID}/nonce
  /interact/${UUID}/nonce/finish /grant/${UUID}/nonce /grant/${UUID}/nonce/accept /grant/${UUID}/nonce/reject /% /%00
  /%2e%2e/alice /..;/alice // /alice? * http://localhost/alice /\\alice`
)
const pathPiece = word('/ // /. %2F %00 % ? &a=b ; :id \\ ..')
const targets = attempts(paths, TARGET_LENGTH_MAX, pathPiece, word('/ /alice/ /alice? /interact/'))

/** Header fields with their possible values, separated by `|`. */
const FIELDS = {
  accept: 'application/json|text/event-stream|*/*|text/html|text/html;q=0.9,application/json;q=0|,;,;q=2',
  'accept-language': 'en|*;q=0.1,de',
  'accept-encoding': 'gzip|*;q=0',
  authorization: 'GNAP abc|gnap  abc|Bearer abc|GNAP|GNAP a b',
  'content-type': 'application/json|text/plain|multipart/form-data; boundary=a|;',
  'content-encoding': 'gzip|identity|br, gzip',
  cookie: 'interaction=abc|=;=|interaction=%|__proto__=a',
  'content-digest': 'sha-256=:AAAA:|sha-256=1',
  signature: 'sig1=:AAAA:|sig1=()',
  'signature-input': 'sig1=("@method");created=1|sig1=1',
  'idempotency-key': `${UUID}|${'a'.repeat(256)}`,
  prefer: 'wait=1|wait=99999|wait=-1|respond-async, wait="1|wait',
  'last-event-id': '1|-1|a',
  'if-none-match': '*|"a"|W/"a", "b|"',
  'if-modified-since': 'Sat, 01 Jan 2000 00:00:00 GMT|0',
  'cache-control': 'no-cache|no-cache,,',
  range: 'bytes=0-0|bytes=-1',
  origin: 'null|https://evil.example',
  'access-control-request-method': 'POST|',
  'x-forwarded-for': '127.0.0.1|::1, 1.1.1.1|unknown',
  'x-forwarded-proto': 'https|javascript',
  forwarded: 'for=127.0.0.1;proto=https|for="[::1',
  'x-http-method-override': 'DELETE',
  'x-idp-secret': 'the secret|the secret||wrong',
  host: 'localhost|evil.example||[::1|a@b',
  expect: '100-continue|a miracle',
  'x-odd': '1|\x80\xff'
}

const names = Object.keys(FIELDS).join(' ')
const field = fc.oneof(
  ...Object.entries(FIELDS).map(([name, values]) => {
    const known = fc.constantFrom(...values.split('|'))
    return fc.tuple(fc.constant(name), mixed([2, known], [1, mutated(known)]))
  })
)
const longValue = grown(mixed([2, word(', ; " a = a/b, \'')], [1, oddPiece]), HEADER_VALUE_LENGTH_MAX)
const fields = mixed(
  [16, fc.array(field, { maxLength: 6 })],
  [1, fc.tuple(fc.tuple(word(names), longValue))],
  [1, fc.array(fc.constant<[string, string]>(['x-many', '1']), { maxLength: 120, size: 'max' })]
)

/** Where requests are sent: host, port, and a public path there. */
function listeners({ system }: World) {
  const port = (url: string): number => Number(new URL(url).port)
  return fc.constantFrom(
    ['localhost', port(system.authServerUrl), '/.well-known/gnap-as-rs'] as const,
    ['localhost', port(system.resourceServerUrl), '/alice'] as const,
    ['127.0.0.1', port(system.identityProviderUrl()), '/readyz'] as const,
    ['127.0.0.1', port(system.peering.ilpEndpoint), '/'] as const
  )
}
type Listener = ReturnType<typeof listeners> extends fc.Arbitrary<infer One> ? One : never

const requests = fc.record({
  method: word('GET GET GET GET POST POST HEAD OPTIONS DELETE PUT PATCH TRACE get PROPFIND'),
  /** Undefined for public paths. */
  path: mixed<string | undefined>([1, fc.constant(undefined)], [2, targets]),
  fields,
  body: mixed([4, fc.constantFrom('', '{}', '{"reason":"no"}', '{')], [1, anyText])
})
type RawRequest = typeof requests extends fc.Arbitrary<infer Request> ? Request : never

/** Characters that a request line can contain: Latin-1 without line ends. */
function inLine(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '')
}

/** Writes a request with a correct length, so that it must be answered. */
function write(
  { method, path, fields: some, body }: RawRequest,
  [, , readable]: Listener,
  secret: string
): Buffer {
  const content = Buffer.from(body, 'latin1')
  const target = inLine(path ?? readable).replace(/[\t ]/g, '') || '/'
  const given = some.map(([name, value]) => `${name}: ${value === 'the secret' ? secret : inLine(value)}`)
  const host = some.some(([name]) => name === 'host') ? [] : ['host: localhost']
  const length = content.length > 0 ? [`content-length: ${String(content.length)}`] : []
  const lines = [`${method} ${target} HTTP/1.1`, ...host, ...given, ...length, 'connection: close']
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content])
}

/**
 * Sends bytes over a new connection, and reads until it ends.
 *
 * @param isEnded whether the input is ended, so that the listener waits for no more
 */
export async function exchange(
  [host, port]: readonly [host: string, port: number, path: string],
  bytes: Uint8Array,
  isEnded: boolean
): Promise<RawAnswer[]> {
  const { socket, ended } = await connectRaw(port, host)
  if (isEnded) socket.end(bytes)
  else socket.write(bytes)
  return parseAnswers(await ended)
}

function check({ status, headers, body: text }: RawAnswer, method: string): string {
  const body = Buffer.from(text, 'latin1').toString()
  return checkAnswer({ status, header: (name) => headers[name], body }, method)
}

// Messages with broken framing; their parts are separated by `|`.
const part = (texts: string): fc.Arbitrary<string> => fc.constantFrom(...texts.split('|'))
const firstLine = part(
  'GET / HTTP/1.1|GET /alice HTTP/1.1|POST / HTTP/1.1|POST /quotes HTTP/1.1|GET / HTTP/1.0|GET / HTTP/2.0|GET / HTTP/9.9|GET /|' +
    'PRI * HTTP/2.0|CONNECT localhost:1 HTTP/1.1|GET  / HTTP/1.1|\r\n\r\nGET / HTTP/1.1|\x16\x03\x01\x02\x00|GET / HTTP/1.1\n'
)
const brokenLine = fc.oneof(
  part('5|-1|1e1|99999999999999999999|1, 1|0\r\ncontent-length: 1').map((text) => `content-length: ${text}`),
  part('chunked|gzip|chunked, chunked|chunked\r\ncontent-length: 1').map(
    (text) => `transfer-encoding: ${text}`
  ),
  part('transfer-encoding : chunked| folded: a|no colon|: empty|a b: c|x: \0'),
  part('websocket|h2c').map((protocol) => `connection: upgrade\r\nupgrade: ${protocol}`),
  part('expect: 100-continue\r\ncontent-length: 9')
)
const chunks = part(
  '|0\r\n\r\n|1\r\na\r\n0\r\n\r\n|fffffffff\r\n|-1\r\n|1;a=b\r\na\r\n0\r\n\r\n|0\r\nx: y\r\n\r\n|{}|GET / HTTP/1.1\r\n\r\n|' +
    `1;${'a'.repeat(20_000)}\r\na\r\n`
)
const end = fc.constant('\r\n')
const brokenMessages = joined(
  joined(firstLine, end, fc.constant('host: localhost'), end),
  fc.array(joined(brokenLine, end), { maxLength: 2 }).map((lines) => lines.join('')),
  joined(end, chunks)
)

const messages = mixed([2, brokenMessages], [1, mutated(brokenMessages)])

/** Anonymous input to a listener: unsigned requests, and bytes that are no request. */
export function rawTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'requests over HTTP',
      share: 65,
      acceptedMin: 0.05,
      cases: () => fc.record({ listener: listeners(world()), request: requests }),
      async attack({ listener, request }) {
        const secret = world().system.identityProviderSecret
        const [answer, ...others] = await exchange(listener, write(request, listener, secret), false)
        mustHold({ 'a request is answered once': answer !== undefined && others.length === 0 })
        // A request whose method cannot be read is answered like any other.
        return answer === undefined ? '' : check(answer, request.method)
      }
    }),
    target({
      name: 'broken messages over HTTP',
      share: 15,
      acceptedMin: 0,
      cases: () => fc.record({ listener: listeners(world()), text: messages }),
      async attack({ listener, text }) {
        const answers = await exchange(listener, Buffer.from(text, 'latin1'), true)
        const results = answers.map((answer) => check(answer, text.startsWith('HEAD') ? 'HEAD' : 'GET'))
        return results.at(-1) ?? 'no answer'
      }
    })
  ]
}
