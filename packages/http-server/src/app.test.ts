import { Agent, request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { Router } from 'express'
import { z } from 'zod'
import {
  createHttpApp,
  NoAnswer,
  parseJsonObject,
  PublicError,
  rawBody,
  refusalAnswer,
  type Route,
  type RunningHttpServer,
  serviceUnavailable,
  startHttpServer,
  validate
} from './index.js'

const schema = z.strictObject({
  amount: z.strictObject({ value: z.string() }).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  client: z.union([z.string(), z.strictObject({ key: z.strictObject({ kid: z.string() }) })]).optional()
})

const routes: Route[] = [
  {
    method: 'POST',
    path: '/echo',
    handle: (request, response) => {
      const body = parseJsonObject(rawBody(request), request.get('content-type'))
      response.sendJson(200, validate(schema, body))
    }
  },
  {
    method: 'OPTIONS',
    path: '/echo',
    handle: (_request, response) => {
      response.sendJson(200, { takes: 'POST' })
    }
  },
  {
    method: 'GET',
    path: '/reads',
    handle: (_request, response) => {
      response.sendJson(200, { read: true })
    }
  },
  {
    method: 'GET',
    path: '/things/:id',
    handle: (request, response) => {
      response.sendJson(200, { id: request.param('id'), query: request.query })
    }
  },
  {
    method: 'GET',
    path: '/sends-half',
    handle: (_request, response) => {
      response.release().writeHead(200, { 'Content-Length': 10 }).write('half')
      throw new Error('secret internals')
    }
  },
  {
    method: 'POST',
    path: '/upload.txt',
    handle: (_request, response) => {
      response.sendEmpty(204)
    }
  },
  {
    method: 'GET',
    path: /\.txt$/,
    handle: (request, response) => {
      response.sendText(200, 'text/plain', request.path)
    }
  },
  ...Object.entries<() => never>({
    '/fails': () => {
      throw new Error('secret internals')
    },
    '/refuses': () => {
      throw new PublicError({
        status: 409,
        code: '409',
        description: 'taken',
        headers: { 'Retry-After': '1' }
      })
    },
    '/waits': () => {
      throw new Error('the database is away')
    },
    '/knows-nothing': () => {
      throw new NoAnswer('nothing is known', {
        fields: { paymentId: 'p-1' },
        cause: new Error('the database')
      })
    }
  }).map(([path, handle]): Route => ({ method: 'GET', path, handle }))
]

/** The same handlers, which fail later; and pages of express. */
function pages(): Router {
  const router = Router()
  router.get('/page', (_request, response) => {
    response.send('a page')
  })
  router.get('/page/fails', async () => {
    await Promise.resolve()
    throw new Error('secret internals')
  })
  router.get('/page/refuses', () => {
    throw new PublicError({ status: 409, code: '409', description: 'taken' })
  })
  router.post('/page/echo', (request, response) => {
    response.json(parseJsonObject(rawBody(request), request.get('content-type')))
  })
  return router
}

describe('an HTTP app', () => {
  const logger = createLogger({ service: 'test', level: 'silent' })
  let server: RunningHttpServer
  let url: string

  beforeAll(async () => {
    const app = createHttpApp({
      logger,
      bodyBytesMax: 1000,
      routes,
      fallback: pages(),
      fields: ['X-Everywhere', 'yes'],
      unexpectedCode: '500',
      badRequestCode: '400',
      answerOf(error) {
        if (error instanceof CommonRefusal) {
          return refusalAnswer(error, error.because === 'unknown-format' ? 415 : 400, '400')
        }
        return /is away/.test(String(error)) ? serviceUnavailable('503', error) : undefined
      },
      errorHeaders: (status): Record<string, string> => (status === 401 ? { 'WWW-Authenticate': 'GNAP' } : {})
    })
    server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
    url = `http://127.0.0.1:${String(server.port)}`
  })
  afterAll(() => server.stop(1000))

  const post = (
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {}
  ): Promise<Response> =>
    fetch(`${url}/echo`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers }
    })

  it('answers an unexpected error with an opaque 500', async () => {
    const response = await fetch(`${url}/fails`)
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ error: { code: '500', description: 'internal server error' } })
  })

  it('answers a transient error with 503 and Retry-After, and logs why', async () => {
    const lines = jest.spyOn(logger, 'warn').mockImplementation(() => undefined)
    const response = await fetch(`${url}/waits`)
    const [[line] = []] = lines.mock.calls
    lines.mockRestore()
    expect(line).toMatchObject({ code: '503', err: { message: expect.stringMatching(/is away/) as unknown } })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toEqual({ error: { code: '503', description: 'temporarily unavailable' } })
  })

  it('closes the connection without an answer when the result is unknown, and logs why', async () => {
    const lines = jest.spyOn(logger, 'error').mockImplementation(() => undefined)
    await expect(fetch(`${url}/knows-nothing`)).rejects.toThrow('fetch failed')
    const [[line] = []] = lines.mock.calls
    lines.mockRestore()
    expect(line).toMatchObject({ paymentId: 'p-1', err: { message: 'nothing is known' } })
  })

  it('answers a public error with its status, code, description and headers', async () => {
    const response = await fetch(`${url}/refuses`)
    expect(response.status).toBe(409)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toEqual({ error: { code: '409', description: 'taken' } })
  })

  it('answers an unknown path with 404 as JSON, without revealing its framework', async () => {
    const response = await fetch(`${url}/unknown`)
    expect(response.status).toBe(404)
    expect(response.headers.get('x-powered-by')).toBeNull()
    expect(await response.json()).toEqual({ error: { code: '404', description: 'not found' } })
  })

  it.each([
    ['OPTIONS', '/reads', 'GET, HEAD'],
    ['POST', '/reads', 'GET, HEAD'],
    ['PUT', '/reads/', 'GET, HEAD'],
    ['PATCH', '/echo', 'POST, OPTIONS'],
    ['DELETE', '/echo', 'POST, OPTIONS'],
    ['HEAD', '/echo', 'POST, OPTIONS'],
    ['GET', '/upload.txt', 'POST'],
    ['POST', '/a/notes.txt', 'GET, HEAD'],
    ['REPORT', '/things/a', 'GET, HEAD']
  ])('answers %s %s with 405, and tells what is taken there', async (method, path, allow) => {
    const response = await fetch(`${url}${path}`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    const error = { code: '405', description: 'the method is not allowed here' }
    if (method !== 'HEAD') expect(await response.json()).toEqual({ error })
  })

  it.each([
    ['OPTIONS', '/unknown'],
    ['OPTIONS', '/echo/more'],
    ['PUT', '/%72eads'],
    ['POST', '/Reads']
  ])('answers %s %s, where nothing is taken, with 404', async (method, path) => {
    const response = await fetch(`${url}${path}`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([404, null])
  })

  it('passes unmatched requests to express, with their body, and renders its errors alike', async () => {
    const page = await fetch(`${url}/page`)
    expect(await page.text()).toBe('a page')
    const echoed = await fetch(`${url}/page/echo`, {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' }
    })
    expect(await echoed.json()).toEqual({ a: 1 })
    const failed = await fetch(`${url}/page/fails`)
    expect(await failed.json()).toEqual({ error: { code: '500', description: 'internal server error' } })
    const refused = await fetch(`${url}/page/refuses`)
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: { code: '409', description: 'taken' } }
    ])
    const undecodable = await fetch(`${url}/page/%ff`)
    expect(undecodable.status).toBe(404)
    for (const { headers } of [page, echoed, failed, refused, undecodable]) {
      expect([headers.get('x-everywhere'), headers.get('x-powered-by')]).toEqual(['yes', null])
    }
  })

  it.each([
    ['/things/a%2Fb?x=1&y=%20', { id: 'a/b', query: { x: '1', y: ' ' } }],
    ['/things/a/', { id: 'a', query: {} }],
    [`/things/${'x'.repeat(1_000)}`, { id: 'x'.repeat(1_000), query: {} }]
  ])('reads the parts of %s', async (path, parts) => {
    expect(await (await fetch(`${url}${path}`)).json()).toEqual(parts)
  })

  it.each(['/things/%ff', '/things/', '/things/a/b', '/Things/a', '/thing%73/a', '/%72eads'])(
    'finds nothing under %s',
    async (path) => {
      expect((await fetch(`${url}${path}`)).status).toBe(404)
    }
  )

  it('matches expressions against the path as sent', async () => {
    expect(await (await fetch(`${url}/%61//b.txt?c`)).text()).toBe('/%61//b.txt')
  })

  it('aborts a started answer that fails', async () => {
    const whole = fetch(`${url}/sends-half`).then((begun) => begun.text())
    await expect(whole).rejects.toThrow(/fetch failed|terminated/)
  })

  it('answers OPTIONS where a route takes it, and HEAD where one takes GET', async () => {
    const described = await fetch(`${url}/echo`, { method: 'OPTIONS' })
    expect(await described.json()).toEqual({ takes: 'POST' })
    const head = await fetch(`${url}/reads`, { method: 'HEAD' })
    expect(head.status).toBe(200)
    expect(head.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await head.text()).toBe('')
  })

  it.each([
    ['text that is not JSON', '{', 400, 'body'],
    ['an array', '[]', 400, 'body'],
    ['null', 'null', 400, 'body'],
    ['bytes that are not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 400, 'body'],
    ['an unknown field', '{"other":1}', 400, 'other'],
    ['an unknown field with a name that objects have', '{"constructor":1}', 400, 'constructor'],
    ['an unknown field further in', '{"amount":{"value":"1","other":1}}', 400, 'amount.other'],
    ['a field of the wrong type', '{"amount":{"value":1}}', 400, 'amount.value'],
    ['a malformed branch of several', '{"client":{"key":{"kid":1}}}', 400, 'client.key.kid'],
    ['a value that fits no branch', '{"client":1}', 400, 'client'],
    ['NUL in a text', '{"metadata":{"note":"a\\u0000b"}}', 400, 'metadata.note'],
    ['NUL in a key', '{"metadata":{"a\\u0000b":1}}', 400, 'metadata'],
    ['a lone surrogate', '{"metadata":{"note":"\\ud800"}}', 400, 'metadata.note'],
    ['nesting without end', `{"metadata":{"a":${'['.repeat(40)}${']'.repeat(40)}}}`, 400, 'body']
  ])('refuses %s and names the field', async (_what, body, status, field) => {
    const response = await post(body)
    expect(response.status).toBe(status)
    const { error } = (await response.json()) as { error: { code: string; details: Record<string, string> } }
    expect(error.code).toBe('400')
    expect(Object.keys(error.details)).toContain(field)
  })

  it('refuses an empty body, another content type, a compressed body and one that is too large', async () => {
    expect((await post('')).status).toBe(400)
    expect((await post('{}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('{}', { 'content-type': 'application/json; charset=latin1' })).status).toBe(415)
    expect((await post(new Uint8Array(gzipSync('{}')), { 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await post(JSON.stringify({ metadata: { note: 'x'.repeat(1000) } }))).status).toBe(413)
  })

  it('keeps __proto__ in metadata inert', async () => {
    const response = await post('{"metadata":{"__proto__":{"admin":true}}}')
    expect(response.status).toBeLessThan(500)
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })

  it('lets a running request finish when it stops', async () => {
    let release: () => void = () => undefined
    const entered = new Promise<void>((resolveEntered) => {
      release = resolveEntered
    })
    let answer: () => void = () => undefined
    const slow = await startHttpServer(
      (_request, response) => {
        answer = () => response.end('done')
        release()
      },
      { host: '127.0.0.1', port: 0 }
    )
    const status = new Promise((resolve, reject) => {
      const request = httpRequest({ host: '127.0.0.1', port: slow.port }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject)
      request.end()
    })
    await entered
    const stopped = slow.stop(5000)
    answer()
    expect(await status).toBe(200)
    await stopped
  })

  it('keeps no connection alive once it stops', async () => {
    let enter: () => void = () => undefined
    const entered = new Promise<void>((resolve) => {
      enter = resolve
    })
    let answer: () => void = () => undefined
    const stopping = await startHttpServer(
      (_request, response) => {
        answer = () => response.end('done')
        enter()
      },
      { host: '127.0.0.1', port: 0 }
    )
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const answered = new Promise((resolve, reject) => {
      const request = httpRequest({ host: '127.0.0.1', port: stopping.port, agent }, (response) => {
        response.resume()
        response.on('end', () => {
          resolve(response.headers.connection)
        })
      })
      request.on('error', reject)
      request.end()
    })
    await entered
    const neverMs = 3_600_000
    const stopped = stopping.stop(neverMs)
    answer()
    await answered
    await stopped
    agent.destroy()
  })
})
