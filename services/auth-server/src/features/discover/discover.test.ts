import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from '../../../test/auth-server.js'

describe('discovery', () => {
  let auth: TestAuthServer

  beforeAll(async () => {
    auth = await startTestAuthServer()
  })
  afterAll(() => auth.stop())

  it('tells clients what the grant endpoint can do (RFC 9635 §9)', async () => {
    const answer = await auth.send('OPTIONS', PUBLIC_URL)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      grant_request_endpoint: PUBLIC_URL,
      interaction_start_modes_supported: ['redirect'],
      interaction_finish_methods_supported: ['redirect'],
      key_proofs_supported: ['httpsig'],
      sub_id_formats_supported: ['uri'],
      assertion_formats_supported: [],
      key_rotation_supported: false
    })
  })

  it('tells resource servers where grants are asked for (RFC 9767 §3.1)', async () => {
    const answer = await auth.send('GET', `${PUBLIC_URL}.well-known/gnap-as-rs`)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ grant_request_endpoint: PUBLIC_URL, key_proofs_supported: ['httpsig'] })
  })

  it('answers what it does not know with 404 in the form of every error', async () => {
    const answer = await auth.send('GET', `${PUBLIC_URL}nothing`)
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual({ error: { code: 'invalid_request', description: 'not found' } })
  })
})
