import { afterEach, describe, expect, it } from '@jest/globals'
import { createPool } from '@open-payments-server/database'
import {
  PublicError,
  type Route,
  type RouteHandler,
  type RunningHttpServer,
  startHttpServer
} from '@open-payments-server/http-server'
import { createLogger } from '@open-payments-server/runtime'
import { send } from '@open-payments-server/testing'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { AuthServerUnavailable } from '../domain/ports.js'
import { invalidCallField } from '../domain/call-refused.js'
import { createPublicApp } from './public-app.js'

let server: RunningHttpServer | undefined
afterEach(() => server?.stop(0))

/** Serves a route that does something, and asks for it. */
async function answerOf(handle: RouteHandler) {
  const routes: Route[] = [{ method: 'GET', path: '/', handle }]
  const logger = createLogger({ service: 'test', level: 'silent' })
  const app = createPublicApp({ routes, authServerUrl: 'https://auth.example/', logger })
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
  return send('GET', `http://127.0.0.1:${String(server.port)}/`)
}

describe('the public listener', () => {
  it('answers 503 with Retry-After while the database cannot be reached', async () => {
    const pool = createPool({
      url: 'postgresql://nobody@127.0.0.1:1/nothing',
      connectionsMax: 1,
      applicationName: 'test',
      statementTimeoutMs: 1_000,
      connectTimeoutMs: 1_000
    })
    const answer = await answerOf(async (_request, response) => {
      await pool.query('select 1')
      response.sendEmpty(200)
    })
    await pool.end()
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('1')
  })

  it('tells nothing of what it did not foresee', async () => {
    const answer = await answerOf(() => {
      throw new Error('password=hunter2')
    })
    expect(answer.status).toBe(500)
    expect(answer.body).toEqual({ error: { code: '500', description: 'internal server error' } })
  })

  it.each([new AuthServerUnavailable(new Error('silent')), new SharedStoreUnavailable('silent')])(
    'answers 503 with Retry-After to %s, wherever it comes from',
    async (error) => {
      const answer = await answerOf(() => {
        throw error
      })
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.body).toEqual({ error: { code: '503', description: 'temporarily unavailable' } })
    }
  )

  it('has no answer to the refusal of an operator', async () => {
    const answer = await answerOf(() => {
      throw invalidCallField('account_name', 'is required')
    })
    expect(answer.status).toBe(500)
    expect(answer.body).toEqual({ error: { code: '500', description: 'internal server error' } })
  })

  it('names the grant endpoint with every 401, and with nothing else', async () => {
    const refuse = (status: number) =>
      answerOf(() => {
        throw new PublicError({ status, code: String(status), description: 'no' })
      })
    expect((await refuse(401)).headers.get('www-authenticate')).toBe('GNAP as_uri=https://auth.example/')
    await server?.stop(0)
    expect((await refuse(403)).headers.get('www-authenticate')).toBeNull()
  })
})
