import { createTestKey, recordStatements } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from '../../../test/auth-server.js'

const key = createTestKey('a-key')
const body = {
  client: { jwk: key.jwk },
  access_token: { access: [{ type: 'incoming-payment', actions: ['create', 'read'] }] }
}

describe('a grant request by a client known by its key alone', () => {
  let auth: TestAuthServer

  beforeAll(async () => {
    auth = await startTestAuthServer()
  })
  afterAll(() => auth.stop())

  it('is answered with a token at once, where nobody need be asked', async () => {
    const answer = await auth.signWith(key).request('POST', PUBLIC_URL, { body })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        access_token: {
          value: expect.stringMatching(/^[\w-]{43}$/),
          manage: expect.stringMatching(/^http:\/\/auth\.test\/token\/[0-9a-f-]{36}$/),
          expires_in: 600,
          access: [{ type: 'incoming-payment', actions: ['create', 'read'] }]
        },
        continue: {
          access_token: { value: expect.stringMatching(/^[\w-]{43}$/) },
          uri: expect.stringMatching(/^http:\/\/auth\.test\/continue\/[0-9a-f-]{36}$/)
        }
      }
    })
    expect(answer.at('continue.wait')).toBeUndefined()
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('is written with one statement', async () => {
    const record = recordStatements(auth.server.pool)
    const answer = await auth.signWith(key).request('POST', PUBLIC_URL, { body })
    record.stop()
    expect(answer.status).toBe(200)
    expect(record.statements).toHaveLength(1)
  })

  it('is refused when another key signed it', async () => {
    const other = auth.signWith(createTestKey('a-key'))
    const answer = await other.request('POST', PUBLIC_URL, { body })
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'invalid_client' } } })
  })
})
