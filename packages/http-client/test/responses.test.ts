import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  createSafeHttpClient,
  OutgoingRequestError,
  REQUESTS_TO_STRANGER_MAX,
  type SafeHttpClient,
  type SafeHttpClientOptions
} from '../src/index.js'

const cleanUps: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

/** A server on the loopback; resolves to its URL. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
}

/** A server that does whatever it likes with a connection. */
async function serveRaw(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
}

/** A server that always answers the same. */
function serveAnswer(status: number, headers: Record<string, string | string[]>, body: string | Buffer) {
  return serve((_, response) => {
    response.writeHead(status, headers).end(body)
  })
}

function makeClient(options: Partial<SafeHttpClientOptions> = {}): SafeHttpClient {
  const client = createSafeHttpClient({
    allowPrivateNetworks: true,
    timeoutMs: 5_000,
    bodyBytesMax: 10_000,
    userAgent: 'open-payments-server/test',
    ...options
  })
  cleanUps.push(() => client.close())
  return client
}

/** Why a request failed. Fails when it did not. */
async function failureOf(request: Promise<unknown>): Promise<OutgoingRequestError> {
  const error = await request.then(
    () => {
      throw new Error('expected a failure')
    },
    (failure: unknown) => failure
  )
  if (!(error instanceof OutgoingRequestError)) throw error
  return error
}

const JSON_HEADERS = { 'content-type': 'application/json' }

describe('a JSON document', () => {
  it('is fetched with its headers and freshness', async () => {
    const url = await serveAnswer(
      200,
      {
        'Content-Type': 'application/json; charset=utf-8',
        'Cache-Control': 'max-age=60',
        'X-Two': ['a', 'b']
      },
      '{"id":"https://wallet.example/alice","publicName":"Alice ☀"}'
    )

    const response = await makeClient().getJson(`${url}/alice`)

    expect(response.status).toBe(200)
    expect(response.body).toEqual({ id: 'https://wallet.example/alice', publicName: 'Alice ☀' })
    expect(response.maxAgeSeconds).toBe(60)
    expect(response.headers).toMatchObject({ 'cache-control': 'max-age=60', 'x-two': 'a, b' })
  })

  it('is requested by name, uncompressed, at the path and query of the URL', async () => {
    const seen: unknown[] = []
    const url = await serve(({ method, url: path, headers }, response) => {
      seen.push([method, path, headers.accept, headers['accept-encoding'], headers['user-agent']])
      response.writeHead(200, JSON_HEADERS).end('{}')
    })
    const client = makeClient()

    await client.getJson(`${url}/a%20b/jwks.json?x=1&y=2`)
    await client.getJson(url, { accept: 'application/jwk-set+json' })

    expect(seen).toEqual([
      ['GET', '/a%20b/jwks.json?x=1&y=2', 'application/json', 'identity', 'open-payments-server/test'],
      ['GET', '/', 'application/jwk-set+json', 'identity', 'open-payments-server/test']
    ])
  })

  it.each([
    'application/json',
    'Application/JSON;charset=utf-8',
    'application/jwk-set+json',
    'application/ld+json ; a=b'
  ])('may have the type %s', async (type) => {
    const url = await serveAnswer(200, { 'content-type': type }, '[]')
    expect((await makeClient().getJson(url)).body).toEqual([])
  })

  it('may be exactly as large as the limit, in any number of chunks', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, JSON_HEADERS)
      response.write('"')
      for (let index = 0; index < 98; index += 1) response.write('x')
      response.end('"')
    })
    expect((await makeClient({ bodyBytesMax: 100 }).getJson(url)).body).toHaveLength(98)
    expect((await failureOf(makeClient({ bodyBytesMax: 99 }).getJson(url))).reason).toBe('too-large')
  })
})

describe('an answer', () => {
  it.each([301, 302, 303, 307, 308])('that redirects (%p) is not followed', async (status) => {
    let requests = 0
    const url = await serve((request, response) => {
      requests += 1
      response.writeHead(status, { location: `http://${String(request.headers.host)}/other` }).end()
    })
    expect(await failureOf(makeClient().getJson(url))).toMatchObject({ reason: 'status', status })
    expect(requests).toBe(1)
  })

  it.each([400, 404, 500, 503])('with status %p is a failure that tells the status', async (status) => {
    const url = await serveAnswer(status, JSON_HEADERS, '{}')
    expect(await failureOf(makeClient().getJson(url))).toMatchObject({ reason: 'status', status })
  })

  it.each([
    [{ 'content-type': 'text/html' }],
    [{ 'content-type': 'text/json' }],
    [{ 'content-type': 'application/jsonp' }],
    [{ 'content-type': 'text/plain, application/json' }],
    [{ 'content-type': '' }],
    [{}]
  ])('of another type is refused: %p', async (headers) => {
    const url = await serveAnswer(200, headers, '{}')
    expect(await failureOf(makeClient().getJson(url))).toMatchObject({ reason: 'content-type', status: 200 })
  })

  it('that is compressed is refused before it is unpacked', async () => {
    for (const encoding of ['gzip', 'br', 'identity, gzip']) {
      const url = await serveAnswer(200, { ...JSON_HEADERS, 'content-encoding': encoding }, gzipSync('{}'))
      expect((await failureOf(makeClient().getJson(url))).reason).toBe('content-type')
    }
    const plain = await serveAnswer(200, { ...JSON_HEADERS, 'content-encoding': 'identity' }, '{}')
    expect((await makeClient().getJson(plain)).body).toEqual({})
  })

  it.each([
    ['empty', ''],
    ['cut short', '{"a":'],
    ['two texts', '{} {}'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])]
  ])('whose body is %s is refused', async (_, body) => {
    const url = await serveAnswer(200, JSON_HEADERS, body)
    expect(await failureOf(makeClient().getJson(url))).toMatchObject({ reason: 'malformed', status: 200 })
  })

  it('that announces too much is refused before its body comes', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { ...JSON_HEADERS, 'content-length': '10001' })
      response.flushHeaders()
    })
    expect((await failureOf(makeClient().getJson(url))).reason).toBe('too-large')
  })

  it('that never ends is cut off at the limit', async () => {
    let hungUp: () => void = () => undefined
    const closed = new Promise<void>((resolve) => {
      hungUp = resolve
    })
    const url = await serve((_, response) => {
      response.writeHead(200, JSON_HEADERS)
      const timer = setInterval(() => response.write('1'.repeat(1_000)), 1)
      response.on('close', () => {
        clearInterval(timer)
        hungUp()
      })
    })
    expect((await failureOf(makeClient().getJson(url))).reason).toBe('too-large')
    await closed
  })

  it('with a header that is too long, or too many headers, is refused', async () => {
    const long = await serveAnswer(200, { ...JSON_HEADERS, 'x-long': 'x'.repeat(20_000) }, '{}')
    expect((await failureOf(makeClient().getJson(long))).reason).toBe('too-large')
    const endless = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n')
      const timer = setInterval(() => socket.write('x-more: and more\r\n'.repeat(100)), 1)
      socket.on('close', () => {
        clearInterval(timer)
      })
    })
    expect((await failureOf(makeClient().getJson(endless))).reason).toBe('too-large')
  })

  it('that would unpack to a thousand times its size is refused before it is unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000, '1'))
    expect(bomb.length).toBeLessThan(10_000)
    const url = await serveAnswer(200, { ...JSON_HEADERS, 'content-encoding': 'gzip' }, bomb)
    expect((await failureOf(makeClient().getJson(url))).reason).toBe('content-type')
  })

  it('that redirects many times ends at the first redirect', async () => {
    const seen: string[] = []
    const url = await serve(({ url: path = '' }, response) => {
      seen.push(path)
      response
        .writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/', ...JSON_HEADERS })
        .end('{}')
    })
    expect((await failureOf(makeClient().getJson(`${url}/first`))).reason).toBe('status')
    expect(seen).toEqual(['/first'])
  })

  it('that is not HTTP is refused', async () => {
    const url = await serveRaw((socket) => socket.end('220 mail.example ESMTP\r\n'))
    expect((await failureOf(makeClient().getJson(url))).reason).toBe('malformed')
  })

  it('that is cut off is a network failure', async () => {
    const headers = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n'
    const url = await serveRaw((socket) => {
      socket.once('data', () => socket.end(`${headers}{"a`))
    })
    expect((await failureOf(makeClient().getJson(url))).reason).toBe('network')
  })
})

describe('the time limit', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['says nothing at all', () => undefined],
    [
      'sends its headers and stops',
      (socket) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n')
    ],
    [
      'sends its headers drop by drop',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx-drops: ')
        const timer = setInterval(() => socket.write('.'), 20)
        socket.on('close', () => {
          clearInterval(timer)
        })
      }
    ],
    [
      'sends its body drop by drop',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n')
        const timer = setInterval(() => socket.write(' '), 20)
        socket.on('close', () => {
          clearInterval(timer)
        })
      }
    ]
  ])('holds for a server that %s', async (_, onConnection) => {
    const url = await serveRaw(onConnection)
    const error = await failureOf(makeClient({ timeoutMs: 200 }).getJson(url))
    expect(error).toMatchObject({ reason: 'timeout', message: 'Not answered in time' })
  })

  it('includes the DNS lookup', async () => {
    const client = makeClient({ timeoutMs: 200, lookup: () => new Promise(() => undefined) })
    expect((await failureOf(client.getJson('https://wallet.example/'))).reason).toBe('timeout')
  })

  it('includes waiting for a free place', async () => {
    const url = await serveRaw(() => undefined)
    const client = makeClient({ timeoutMs: 200, connectionsMax: 1 })
    const failures = await Promise.all([1, 2, 3].map(() => failureOf(client.getJson(url))))
    expect(failures.map(({ reason }) => reason)).toEqual(['timeout', 'timeout', 'timeout'])
  })
})

describe('a request', () => {
  it('can be aborted, and fails with the reason of its caller', async () => {
    const abort = new AbortController()
    const reason = new Error('no longer wanted')
    const url = await serveRaw(() => {
      abort.abort(reason)
    })
    await expect(makeClient().getJson(url, { signal: abort.signal })).rejects.toBe(reason)
  })

  it('that was aborted beforehand is not sent', async () => {
    let requests = 0
    const url = await serve((_, response) => {
      requests += 1
      response.end()
    })
    const reason = new Error('no longer wanted')
    await expect(makeClient().getJson(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(requests).toBe(0)
  })

  it('to an unreachable host fails, and names neither address nor port', async () => {
    const url = await serve(() => undefined)
    await Promise.all(cleanUps.splice(0).map((cleanUp) => cleanUp()))
    const error = await failureOf(makeClient().getJson(url))
    expect(error.reason).toBe('network')
    expect(error.message).not.toMatch(/127|\d{4}/)
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('beyond the limit of its host fails at once, and succeeds later', async () => {
    const waiting: (() => void)[] = []
    let released = false
    const url = await serve((_, response) => {
      waiting.push(() => response.writeHead(200, JSON_HEADERS).end('{}'))
      if (released) for (const release of waiting.splice(0)) release()
    })
    const client = makeClient({ timeoutMs: 20_000 })
    const running = Array.from({ length: REQUESTS_TO_STRANGER_MAX }, () => client.getJson(url))

    expect(await failureOf(client.getJson(url))).toMatchObject({
      reason: 'busy',
      message: 'Too many requests at a time'
    })
    const elsewhere = await serveAnswer(200, JSON_HEADERS, '{}')
    expect((await client.getJson(elsewhere)).status).toBe(200)

    released = true
    for (const release of waiting.splice(0)) release()
    await Promise.all(running)
    expect((await client.getJson(url)).status).toBe(200)
  })
})
