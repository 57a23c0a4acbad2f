import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { createTestKey } from '@open-payments-server/testing'
import type { TestToken } from '../../../test/support/fake-auth-server.js'
import type { TestClient, TestResourceServer } from '../../../test/support/resource-server.js'

const signatures = await import('@open-payments-server/http-signatures')
let verifications = 0
jest.unstable_mockModule('@open-payments-server/http-signatures', () => ({
  ...signatures,
  verifySignature: (...parameters: Parameters<typeof signatures.verifySignature>) => {
    verifications += 1
    signatures.verifySignature(...parameters)
  }
}))
const { ALICE, startTestResourceServer } = await import('../../../test/support/resource-server.js')

const ACCESS = [{ type: 'incoming-payment' as const, actions: ['list'] }]
const LIST = `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`

let service: TestResourceServer
let shop: TestClient
let token: TestToken

beforeAll(async () => {
  service = await startTestResourceServer({ settings: { INTROSPECTION_CACHE_SECONDS: '0' } })
  shop = service.createClient('shop')
  token = service.auth.issueToken({ client: shop.client, keys: [shop.key], access: ACCESS })
})
afterAll(() => service.stop())

it('refuses whatever key is not the client’s in the same words and at the same cost: one question, one verification', async () => {
  const unpublished = createTestKey('unpublished')
  const impostor = createTestKey(shop.key.keyId)
  const refusals: Record<string, object> = {}
  for (const [what, signature] of Object.entries({
    'a key that nobody publishes': { keyId: unpublished.keyId, privateKey: unpublished.privateKey },
    "another key under the client's identifier": { privateKey: impostor.privateKey },
    "the client's key under another identifier": { keyId: 'another' }
  })) {
    const before = { questions: service.auth.introspections, verifications }
    const { status, text } = await shop.request(ACCESS, 'GET', LIST, {
      accessToken: token.accessToken,
      signature
    })
    refusals[what] = {
      status,
      text,
      questions: service.auth.introspections - before.questions,
      verifications: verifications - before.verifications
    }
  }
  const refusal = {
    status: 401,
    text: JSON.stringify({
      error: {
        code: '401',
        description: 'Signature validation error: it was not made with a current key of the client'
      }
    }),
    questions: 1,
    verifications: 1
  }
  expect(refusals).toEqual(Object.fromEntries(Object.keys(refusals).map((what) => [what, refusal])))
})
