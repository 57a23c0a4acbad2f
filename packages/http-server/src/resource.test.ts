import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { createHttpApp } from './app.js'
import { type ResourceOptions, sendResource } from './resource.js'
import type { RouteHandler } from './routes.js'
import { type RunningHttpServer, startHttpServer } from './server.js'

let server: RunningHttpServer
let resource: unknown = { value: 'é' }
let options: ResourceOptions = {}

beforeAll(async () => {
  const handle: RouteHandler = (request, response) => {
    sendResource(request, response, resource, options)
  }
  const app = createHttpApp({
    logger: createLogger({ service: 'test', level: 'silent' }),
    bodyBytesMax: 0,
    routes: [
      { method: 'GET', path: '/', handle },
      { method: 'POST', path: '/', handle }
    ],
    unexpectedCode: '500',
    badRequestCode: '400'
  })
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
})
afterAll(() => server.stop(0))

const ask = (headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(`http://127.0.0.1:${String(server.port)}/`, { headers, method })

describe('a resource', () => {
  it('is sent as JSON with its entity tag, and Cache-Control private by default', async () => {
    const response = await ask()
    expect(await response.json()).toEqual({ value: 'é' })
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('etag')).toMatch(/^"[A-Za-z0-9_-]{20}"$/)
    expect(response.headers.get('cache-control')).toBe('private, no-cache')
  })

  it('carries the given Cache-Control, Location and Vary', async () => {
    options = {
      status: 201,
      updatedAtMs: Date.UTC(2030, 0, 31, 12, 0, 0, 999),
      vary: 'Accept, Authorization',
      cacheControl: 'public, max-age=60',
      location: 'https://wallet.example/quotes/1'
    }
    const response = await ask({}, 'POST')
    options = {}
    expect(response.status).toBe(201)
    expect(response.headers.get('last-modified')).toBe('Thu, 31 Jan 2030 12:00:00 GMT')
    expect(response.headers.get('vary')).toBe('Accept, Authorization')
    expect(response.headers.get('cache-control')).toBe('public, max-age=60')
    expect(response.headers.get('location')).toBe('https://wallet.example/quotes/1')
  })

  it('has a new entity tag exactly when it changes', async () => {
    const first = (await ask()).headers.get('etag')
    expect((await ask()).headers.get('etag')).toBe(first)
    resource = { value: 'e' }
    expect((await ask()).headers.get('etag')).not.toBe(first)
  })

  it('is not sent again if the entity tag matches', async () => {
    const etag = (await ask()).headers.get('etag') ?? ''
    for (const known of [etag, `W/${etag}`, `"a", ${etag} , "b"`, '*']) {
      const response = await ask({ 'if-none-match': known })
      expect({ known, status: response.status, text: await response.text() }).toEqual({
        known,
        status: 304,
        text: ''
      })
      expect(response.headers.get('etag')).toBe(etag)
      expect(response.headers.get('content-type')).toBeNull()
    }
  })

  it('is sent for another tag, a malformed one, or an unsafe method', async () => {
    const etag = (await ask()).headers.get('etag') ?? ''
    for (const known of ['"other"', etag.slice(1, -1), '"', '']) {
      expect((await ask({ 'if-none-match': known })).status).toBe(200)
    }
    expect((await ask({ 'if-none-match': etag }, 'POST')).status).toBe(200)
  })
})
