import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  createSafeHttpClient,
  type Lookup,
  OutgoingRequestError,
  type OutgoingRequestErrorReason,
  REQUESTS_TO_STRANGER_MAX,
  type SafeHttpClient,
  type SafeHttpClientOptions
} from '../src/index.js'

const cleanUps: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

/** A server on the loopback; resolves to its URL. */
async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response))
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

async function textOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat((await request.toArray()) as Buffer[]).toString()
}

const JSON_HEADERS = { 'content-type': 'application/json' }

describe('a request', () => {
  it('carries the headers of its caller, beside those of the client', async () => {
    let seen: IncomingMessage['headers'] = {}
    const url = await serve(({ headers }, response) => {
      seen = headers
      response.writeHead(200, JSON_HEADERS).end('{}')
    })
    const headers = {
      authorization: 'GNAP token',
      signature: 'sig1=:AA==:',
      'user-agent': 'another',
      'accept-encoding': 'gzip'
    }
    await makeClient().getJson(url, { headers })
    expect(seen).toMatchObject({
      authorization: 'GNAP token',
      signature: 'sig1=:AA==:',
      accept: 'application/json',
      'user-agent': 'open-payments-server/test',
      'accept-encoding': 'identity'
    })
  })

  it('posts a JSON text byte for byte, and reads the JSON of the answer', async () => {
    const seen: unknown[] = []
    const url = await serve(async (request, response) => {
      const { method, url: path, headers } = request
      seen.push([method, path, headers['content-type'], headers['content-length'], await textOf(request)])
      response.writeHead(201, { ...JSON_HEADERS, 'x-kind': 'made' }).end('{"made":true}')
    })
    const body = '{ "name": "Zoë" }'
    const headers = { 'content-length': String(Buffer.byteLength(body)) }
    const answer = await makeClient().postJson(`${url}/grants?x=1`, { body, headers })
    expect(answer).toMatchObject({ status: 201, body: { made: true }, headers: { 'x-kind': 'made' } })
    expect(seen).toEqual([['POST', '/grants?x=1', 'application/json', '18', body]])
  })

  it('may post nothing', async () => {
    const seen: unknown[] = []
    const url = await serve(async (request, response) => {
      seen.push([request.headers['content-type'], request.headers['content-length'], await textOf(request)])
      response.writeHead(200, JSON_HEADERS).end('{}')
    })
    await makeClient().postJson(url)
    expect(seen).toEqual([[undefined, '0', '']])
  })

  it('is posted only where it could be fetched from', async () => {
    const lookup: Lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
    const client = makeClient({ allowPrivateNetworks: false, lookup })
    for (const url of ['http://auth.test/', 'https://auth.test:8443/']) {
      expect(await failureOf(client.postJson(url, { body: '{}' }))).toMatchObject({ reason: 'url' })
    }
    for (const url of ['https://auth.test/', 'https://127.0.0.1/']) {
      expect(await failureOf(client.postJson(url, { body: '{}' }))).toMatchObject({ reason: 'address' })
    }
  })

  it.each<[OutgoingRequestErrorReason, number, Record<string, string>, string]>([
    ['status', 302, { location: '/other' }, ''],
    ['status', 500, JSON_HEADERS, '{}'],
    ['content-type', 200, { 'content-type': 'text/html' }, '<html>'],
    ['content-type', 204, {}, ''],
    ['too-large', 200, JSON_HEADERS, `"${'x'.repeat(10_000)}"`],
    ['malformed', 200, JSON_HEADERS, '{']
  ])(
    'that is posted fails with %s for an answer of %p, and is not sent again',
    async (reason, status, headers, body) => {
      let requests = 0
      const url = await serve((_, response) => {
        requests += 1
        response.writeHead(status, headers).end(body)
      })
      const failure = await failureOf(makeClient().postJson(url, { body: '{}' }))
      expect(failure).toMatchObject({ reason, status, isUnsent: false })
      expect(requests).toBe(1)
    }
  )
})

describe('a failed request is known as unsent', () => {
  it.each(['not a url', 'ftp://auth.test/', 'http://user@auth.test/'])('when its URL is %s', async (url) => {
    expect(await failureOf(makeClient().postJson(url))).toMatchObject({ reason: 'url', isUnsent: true })
  })

  it('when its host may not be connected to', async () => {
    const client = makeClient({ allowPrivateNetworks: false })
    const failure = await failureOf(client.postJson('https://10.0.0.1/'))
    expect(failure).toMatchObject({ reason: 'address', isUnsent: true })
  })

  it('when its host cannot be looked up', async () => {
    const failing = makeClient({ lookup: () => Promise.reject(new Error('no such name')) })
    expect(await failureOf(failing.postJson('http://auth.test/'))).toMatchObject({
      reason: 'network',
      isUnsent: true
    })
    const silent = makeClient({ lookup: () => new Promise(() => undefined), timeoutMs: 200 })
    expect(await failureOf(silent.postJson('http://auth.test/'))).toMatchObject({
      reason: 'timeout',
      isUnsent: true
    })
  })

  it('when nobody listens', async () => {
    const url = await serve(() => undefined)
    await Promise.all(cleanUps.splice(0).map((cleanUp) => cleanUp()))
    const failure = await failureOf(makeClient().postJson(url))
    expect(failure).toMatchObject({ reason: 'network', isUnsent: true })
  })

  it('when the connection is not encrypted as it should be', async () => {
    const url = await serveRaw((socket) => socket.end('220 mail.example ESMTP\r\n'))
    const failure = await failureOf(makeClient().postJson(url.replace('http:', 'https:')))
    expect(failure).toMatchObject({ reason: 'network', isUnsent: true })
  })

  it('when there are too many to its host', async () => {
    const url = await serve(() => undefined)
    const client = makeClient({ timeoutMs: 1_000 })
    const running = Array.from({ length: REQUESTS_TO_STRANGER_MAX }, () => failureOf(client.postJson(url)))
    expect(await failureOf(client.postJson(url))).toMatchObject({ reason: 'busy', isUnsent: true })
    await Promise.all(running)
  })

  it('when its time was over before it had a connection, and then it is not sent later either', async () => {
    let requests = 0
    const url = await serve(() => {
      requests += 1
    })
    const lookup: Lookup = async () => {
      await delay(300)
      return [{ address: '127.0.0.1', family: 4 }]
    }
    const client = makeClient({ lookup, timeoutMs: 150 })
    const failure = await failureOf(client.postJson(url.replace('127.0.0.1', 'auth.test')))
    expect(failure).toMatchObject({ reason: 'timeout', isUnsent: true })
    await delay(400)
    expect(requests).toBe(0)
  })
})

describe('a failed request may have arrived', () => {
  it.each<[string, string, (socket: Socket) => void]>([
    ['is never answered', 'timeout', () => undefined],
    ['is cut off', 'network', (socket) => socket.once('data', () => socket.destroy())],
    [
      'is answered in part',
      'network',
      (socket) =>
        socket.once('data', () =>
          socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"a')
        )
    ],
    ['is not answered in HTTP', 'malformed', (socket) => socket.once('data', () => socket.end('220 \r\n'))]
  ])('when it %s', async (_what, reason, onConnection) => {
    const url = await serveRaw(onConnection)
    const failure = await failureOf(makeClient({ timeoutMs: 400 }).postJson(url, { body: '{}' }))
    expect(failure).toMatchObject({ reason, isUnsent: false })
  })

  it('when an idle connection was closed just then', async () => {
    const url = await serveRaw((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
        socket.once('data', () => socket.destroy())
      })
    })
    const client = makeClient({ connectionsMax: 1 })
    await client.postJson(url)
    expect(await failureOf(client.postJson(url))).toMatchObject({ reason: 'network', isUnsent: false })
  })
})
