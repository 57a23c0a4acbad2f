import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { connectRaw, parseAnswers, type RawAnswer, sendRaw } from '@open-payments-server/testing'
import { createHttpApp, parseJsonObject, rawBody, type RunningHttpServer, startHttpServer } from './index.js'
import type { HttpServerOptions } from './server.js'
import { HEADER_BYTES_MAX, HEADER_COUNT_MAX, TARGET_LENGTH_MAX } from './limits.js'
import type { RouteHandler } from './routes.js'

const HOST = 'Host: service.test\r\n'
const CLOSE = `${HOST}Connection: close\r\n`
const BODY_BYTES_MAX = 1_000
/** No test waits for this: what it belongs to must not happen. */
const NEVER_MS = 600_000

let server: RunningHttpServer | undefined
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  await server?.stop(0)
})

async function start(listener: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<number> {
  server = await startHttpServer(listener, { host: '127.0.0.1', port: 0, ...options })
  return server.port
}

const answering: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-length': 2 }).end('ok')
}

const startAnswering = (options: Partial<HttpServerOptions> = {}): Promise<number> =>
  start(answering, options)

function startApp(options: Partial<HttpServerOptions> = {}): Promise<number> {
  const echo: RouteHandler = (request, response) => {
    response.sendJson(200, parseJsonObject(rawBody(request), request.get('content-type')))
  }
  const logger = createLogger({ service: 'test', level: 'silent' })
  return start(
    createHttpApp({
      logger,
      bodyBytesMax: BODY_BYTES_MAX,
      routes: [{ method: 'POST', path: '/echo', handle: echo }],
      unexpectedCode: '500',
      badRequestCode: '400'
    }),
    options
  )
}

function expectRefusal(answer: RawAnswer | undefined, status: number, code = String(status)): void {
  expect(answer).toMatchObject({
    status,
    headers: { connection: 'close', 'content-type': 'application/json; charset=utf-8' }
  })
  expect(JSON.parse(answer?.body ?? '')).toEqual({ error: { code, description: expect.any(String) } })
}

const get = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\n${CLOSE}${headers}\r\n`
const post = (headers: string, body: string): string => `POST /echo HTTP/1.1\r\n${CLOSE}${headers}\r\n${body}`

describe('a listener answers in the format of the app', () => {
  const messages: readonly [what: string, sent: string, status: number][] = [
    ['text that is no request', 'hello\r\n\r\n', 400],
    ['a method in small letters', `get / HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['a method nobody knows', `STEAL / HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['another version of HTTP', `GET / HTTP/2.0\r\n${HOST}\r\n`, 505],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a request with two', `GET / HTTP/1.1\r\n${HOST}Host: other.test\r\n\r\n`, 400],
    ['a request with the same Host twice', `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
    ['a tunnel', `CONNECT other.test:443 HTTP/1.1\r\n${HOST}\r\n`, 405],
    ['an absolute target', get('http://other.test/'), 400],
    ['a target with a fragment', get('/path#fragment'), 400],
    ['a target with bytes beyond ASCII', get('/caf\u00e9'), 400],
    ['an expectation nobody can meet', get('/', 'Expect: 200-ok\r\n'), 417],
    ['a header without a name', get('/', ': value\r\n'), 400],
    ['a space before the colon', get('/', 'Content-Length : 0\r\n'), 400],
    ['a folded header', get('/', 'X-Note: a\r\n  b\r\n'), 400],
    ['two lengths', post('Content-Length: 2\r\nContent-Length: 3\r\n', '{}'), 400],
    ['the same length twice', post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'), 400],
    ['a length that is no number', post('Content-Length: 2x\r\n', '{}'), 400],
    ['a negative length', post('Content-Length: -2\r\n', '{}'), 400],
    ['a length and chunks', post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
    ['chunks and a length', post('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n', '0\r\n\r\n'), 400],
    ['another transfer coding', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
    [
      'a transfer coding that is not the last',
      post('Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'),
      400
    ],
    [
      'two transfer codings',
      post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
      400
    ],
    ['a chunk whose size is no number', post('Transfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'), 400],
    ['chunks of HTTP/1.0', `POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    [
      'two content types',
      post('Content-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 2\r\n', '{}'),
      400
    ],
    [
      'two encodings of the content',
      get('/', 'Content-Encoding: gzip\r\nContent-Encoding: identity\r\n'),
      400
    ],
    ['two idempotency keys', get('/', 'Idempotency-Key: a\r\nIdempotency-Key: b\r\n'), 400],
    ['two secrets', get('/', 'X-IdP-Secret: a\r\nX-IdP-Secret: b\r\n'), 400]
  ]
  it.each(messages)('%s', async (_what, sent, status) => {
    const answers = await sendRaw(await startApp(), sent)
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], status)
  })

  it('with one code for all, where the app has one', async () => {
    const port = await startAnswering({ badRequestCode: 'invalid_request' })
    for (const [sent, status] of [
      ['hello\r\n\r\n', 400],
      ['GET / HTTP/1.1\r\n\r\n', 400],
      [get('/', 'Expect: x\r\n'), 417]
    ] as const) {
      expectRefusal((await sendRaw(port, sent))[0], status, 'invalid_request')
    }
  })

  it('and logs the reason in one line, without the request', async () => {
    const logger = createLogger({ service: 'test', level: 'silent' })
    const lines = jest.spyOn(logger, 'info').mockImplementation(() => undefined)
    const port = await startAnswering({ logger })
    await sendRaw(port, 'canary\r\n\r\n')
    await sendRaw(port, `GET /canary HTTP/1.1\r\nX-Note: canary\r\n\r\n`)
    expect(lines.mock.calls).toEqual([
      [{ status: 400, reason: 'HPE_INVALID_METHOD' }, 'request refused'],
      [{ status: 400, reason: 'message' }, 'request refused']
    ])
  })
})

describe('a listener accepts its limit, and refuses one more', () => {
  it('byte of headers', async () => {
    const port = await startAnswering()
    const most = 'x'.repeat(HEADER_BYTES_MAX)
    const fitting = async (length: number): Promise<number | undefined> =>
      (await sendRaw(port, get('/', `X-Note: ${most.slice(0, length)}\r\n`)))[0]?.status
    // What of the first line and the line ends Node counts is its own; that there is one edge, and where, is ours.
    let [taken, refused] = [HEADER_BYTES_MAX - 256, HEADER_BYTES_MAX]
    expect([await fitting(taken), await fitting(refused)]).toEqual([200, 431])
    while (refused - taken > 1) {
      const middle = Math.floor((taken + refused) / 2)
      if ((await fitting(middle)) === 200) taken = middle
      else refused = middle
    }
    expectRefusal((await sendRaw(port, get('/', `X-Note: ${most.slice(0, refused)}\r\n`)))[0], 431)
  })

  it('header, instead of dropping it', async () => {
    const seen: (string | undefined)[] = []
    const port = await start((request, response) => {
      seen.push(request.headersDistinct['x-last']?.[0])
      answering(request, response)
    })
    const headers = (count: number): string =>
      // Host and Connection are two of them.
      Array.from({ length: count - 3 }, (_, index) => `X-${String(index)}: a\r\n`).join('') +
      'X-Last: last\r\n'
    expect((await sendRaw(port, get('/', headers(HEADER_COUNT_MAX))))[0]?.status).toBe(200)
    for (const count of [HEADER_COUNT_MAX + 1, HEADER_COUNT_MAX + 2, 10 * HEADER_COUNT_MAX]) {
      expectRefusal((await sendRaw(port, get('/', headers(count))))[0], 431)
    }
    expect(seen).toEqual(['last'])
  })

  it('character of the address', async () => {
    const port = await startAnswering()
    const target = `/${'a'.repeat(TARGET_LENGTH_MAX - 1)}`
    expect((await sendRaw(port, get(target)))[0]?.status).toBe(200)
    expectRefusal((await sendRaw(port, get(`${target}a`)))[0], 414)
  })

  it('byte of a body, with or without Content-Length', async () => {
    const port = await startApp()
    const body = (length: number): string => `{"note":"${'x'.repeat(length - 11)}"}`
    const whole = (length: number): string =>
      post(`Content-Type: application/json\r\nContent-Length: ${String(length)}\r\n`, body(length))
    const inChunks = (length: number): string =>
      post(
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
        `${length.toString(16)}\r\n${body(length)}\r\n0\r\n\r\n`
      )
    for (const form of [whole, inChunks]) {
      expect((await sendRaw(port, form(BODY_BYTES_MAX)))[0]?.status).toBe(200)
      expect((await sendRaw(port, form(BODY_BYTES_MAX + 1)))[0]?.status).toBe(413)
    }
  })

  it('request of a connection', async () => {
    const port = await startAnswering({ requestsPerConnectionMax: 2 })
    const request = `GET / HTTP/1.1\r\n${HOST}\r\n`
    const answers = await sendRaw(port, request.repeat(3))
    expect(answers.map(({ status, headers }) => [status, headers['connection']])).toEqual([
      [200, 'keep-alive'],
      [200, 'close']
    ])
  })

  it('request after a refused one: nothing behind it on its connection has an effect', async () => {
    const seen: (string | undefined)[] = []
    const port = await start((request, response) => {
      seen.push(request.url)
      answering(request, response)
    })
    const first = `GET /first HTTP/1.1\r\n${HOST}\r\n`
    const answers = await sendRaw(port, `${first}GET /bad HTTP/1.1\r\n\r\n${get('/second')}`)
    expect(answers.map(({ status }) => status)).toEqual([200, 400])
    expect(seen).toEqual(['/first'])
  })

  it('connection at a time, and takes another once one has ended', async () => {
    const port = await startAnswering({ connectionsMax: 2 })
    const connections = await Promise.all([connectRaw(port), connectRaw(port)])
    for (const { socket } of connections) {
      sockets.add(socket)
      socket.write(`GET / HTTP/1.1\r\n${HOST}\r\n`)
      await once(socket, 'data')
    }
    expect(await sendRaw(port, get('/'))).toEqual([])
    connections[0].socket.end()
    await connections[0].ended
    expect((await sendRaw(port, get('/')))[0]?.status).toBe(200)
  })
})

describe('a listener cuts off', () => {
  const impatient = { timeoutCheckIntervalMs: 5 }

  it('a client that sends its headers too slowly', async () => {
    const port = await startAnswering({ ...impatient, headersTimeoutMs: 20, requestTimeoutMs: NEVER_MS })
    expectRefusal((await sendRaw(port, `GET / HTTP/1.1\r\n${HOST}X-Note: a`))[0], 408)
  })

  it('a client that sends nothing at all', async () => {
    const port = await startAnswering({ ...impatient, headersTimeoutMs: 20, requestTimeoutMs: NEVER_MS })
    const { ended } = await connectRaw(port)
    expectRefusal(parseAnswers(await ended)[0], 408)
  })

  it('a client that sends its body too slowly', async () => {
    const port = await start(() => undefined, { ...impatient, headersTimeoutMs: 20, requestTimeoutMs: 20 })
    expectRefusal((await sendRaw(port, post('Content-Length: 10\r\n', '{')))[0], 408)
  })

  it('a client that does not read its answer', async () => {
    let cut: () => void = () => undefined
    const over = new Promise<void>((resolve) => {
      cut = resolve
    })
    const port = await start(
      (request, response) => {
        request.socket.once('close', cut)
        response.end(Buffer.alloc(64 * 1024 * 1024))
      },
      { answerStallTimeoutMs: 50 }
    )
    const { socket } = await connectRaw(port)
    sockets.add(socket.pause())
    socket.write(`GET / HTTP/1.1\r\n${HOST}\r\n`)
    await over
    expect(socket.destroyed).toBe(false)
  })

  it('never a client whose request it is processing', async () => {
    const port = await start(
      (request, response) => {
        request.socket.once('timeout', () => {
          request.socket.once('timeout', () => {
            answering(request, response)
          })
        })
      },
      // Long enough that a busy machine has sent the answer by then.
      { answerStallTimeoutMs: 250 }
    )
    expect((await sendRaw(port, get('/')))[0]?.status).toBe(200)
  })

  it('a client that does not finish a refused body', async () => {
    const { socket, ended } = await connectRaw(await startApp({ discardTimeoutMs: 20 }))
    sockets.add(socket)
    socket.write(`POST /echo HTTP/1.1\r\n${HOST}Content-Length: 1000000000\r\n\r\n`)
    expect(parseAnswers(await ended)[0]?.status).toBe(413)
  })
})

describe('a listener never mixes up answers', () => {
  it('when the bytes after a request cannot be parsed', async () => {
    let enter: (answer: () => void) => void = () => undefined
    const entered = new Promise<() => void>((resolve) => {
      enter = resolve
    })
    const port = await start((_request, response) => {
      enter(() => response.writeHead(201, { 'content-length': 4 }).end('paid'))
    })
    const answers = sendRaw(port, `POST / HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\nnonsense\r\n\r\n`)
    const answer = await entered
    answer()
    expect((await answers).map(({ status, body }) => [status, body])).toEqual([[201, 'paid']])
  })
})
