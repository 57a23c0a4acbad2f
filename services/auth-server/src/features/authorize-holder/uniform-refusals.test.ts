import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { createTestKey, recordStatements } from '@open-payments-server/testing'
import type { TestAuthServer, TestClient } from '../../../test/auth-server.js'

const signatures = await import('@open-payments-server/http-signatures')
let verifications = 0
jest.unstable_mockModule('@open-payments-server/http-signatures', () => ({
  ...signatures,
  verifySignature: (...parameters: Parameters<typeof signatures.verifySignature>) => {
    verifications += 1
    signatures.verifySignature(...parameters)
  }
}))
const { PUBLIC_URL, startTestAuthServer } = await import('../../../test/auth-server.js')
const { issueGrant, requestPendingGrant } = await import('../../../test/grants.js')

/** What a request asks for, with which token, signed by whom. */
interface Attempt {
  readonly url: string
  readonly accessToken: string
  readonly client: Pick<TestClient, 'request'>
}

let auth: TestAuthServer
let shop: TestClient
let market: TestClient

beforeAll(async () => {
  auth = await startTestAuthServer({ CONTINUATION_WAIT_SECONDS: '0' })
  shop = auth.createClient('shop')
  market = auth.createClient('market')
})
afterAll(() => auth.stop())

/** What an attempt is answered, and what it costs: statements, verifications, and documents fetched. */
async function refusalOf({ url, accessToken, client }: Attempt, method: string): Promise<object> {
  const fetches = (): number =>
    ['shop', 'market'].reduce((sum, name) => sum + auth.wallet.requestCount(`/${name}/jwks.json`), 0)
  const [verifiedBefore, fetchedBefore] = [verifications, fetches()]
  const record = recordStatements(auth.server.pool)
  try {
    const { status, text } = await client.request(method, url, { accessToken })
    return {
      status,
      text,
      statements: record.statements.length,
      verifications: verifications - verifiedBefore,
      fetches: fetches() - fetchedBefore
    }
  } finally {
    record.stop()
  }
}

/** Every way not to be the holder of what stands under a URL. */
function attemptsOn(right: Attempt, other: Attempt): Record<string, Attempt> {
  const unpublished = auth.signWith(createTestKey('unpublished'))
  return {
    'an id that nobody has': { ...right, url: right.url.replace(/[^/]+$/, randomUUID()) },
    'the id of another grant': { ...right, url: other.url },
    'the token of another grant': { ...right, accessToken: other.accessToken },
    'a token that nobody has': { ...right, accessToken: 'never-issued' },
    "another client's key": { ...right, client: market },
    'a key that nobody publishes': { ...right, client: unpublished },
    "another key under the client's identifier": {
      ...right,
      client: auth.signWith(createTestKey(shop.key.keyId))
    },
    'nothing right at all': { url: other.url, accessToken: 'never-issued', client: unpublished }
  }
}

/** What every attempt is answered and costs, which is the same for all. Where they differ, the test shows how. */
async function refusalOfAll(attempts: Record<string, Attempt>, method: string): Promise<object> {
  const refusals: Record<string, object> = {}
  // One after the other: what each costs is counted.
  for (const [what, attempt] of Object.entries(attempts)) refusals[what] = await refusalOf(attempt, method)
  const [first = {}] = Object.values(refusals)
  expect(refusals).toEqual(Object.fromEntries(Object.keys(refusals).map((what) => [what, first])))
  return first
}

const COST = { statements: 1, verifications: 1, fetches: 0 }

describe('whoever is not the holder is refused in the same words and at the same cost', () => {
  it.each(['POST', 'DELETE'])('on %s of a continuation, whatever is wrong', async (method) => {
    const [grant, otherGrant] = [
      await requestPendingGrant(auth, shop),
      await requestPendingGrant(auth, market)
    ]
    const right = { url: grant.continueUri, accessToken: grant.continuationToken, client: shop }
    const other = { url: otherGrant.continueUri, accessToken: otherGrant.continuationToken, client: market }
    const refusal = await refusalOfAll(attemptsOn(right, other), method)
    expect(refusal).toMatchObject({ status: 401, ...COST })
    expect(refusal).toMatchObject({ text: expect.stringContaining('"invalid_continuation"') })
  })

  it.each(['POST', 'DELETE'])('on %s of a token, whatever is wrong', async (method) => {
    const [grant, otherGrant] = [await issueGrant(shop), await issueGrant(market)]
    const attempt = (answer: typeof grant, client: TestClient): Attempt => ({
      url: answer.textAt('access_token.manage'),
      accessToken: answer.textAt('access_token.value'),
      client
    })
    const refusal = await refusalOfAll(attemptsOn(attempt(grant, shop), attempt(otherGrant, market)), method)
    expect(refusal).toMatchObject({ status: 401, ...COST })
    expect(refusal).toMatchObject({ text: expect.stringContaining('"invalid_client"') })
  })

  it('and makes nobody fetch keys with a token that is not right, however long none were fetched', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const wrong = { url: grant.continueUri, accessToken: 'never-issued', client: shop }
    auth.clock.advanceSeconds(3_600)
    expect(await refusalOf(wrong, 'POST')).toMatchObject({ status: 401, ...COST })
  })
})

describe('what is wrong with a signature by itself', () => {
  it('is told as it is, whether or not there is such a grant, and costs no statement', async () => {
    const grant = await requestPendingGrant(auth, shop)
    for (const url of [grant.continueUri, `${PUBLIC_URL}continue/${randomUUID()}`]) {
      const record = recordStatements(auth.server.pool)
      for (const options of [
        { unsigned: true },
        { signature: { createdSeconds: 1 } },
        { signature: { components: ['@method'] } }
      ]) {
        const answer = await shop.request('POST', url, { accessToken: grant.continuationToken, ...options })
        expect(answer).toMatchObject({ status: 401, body: { error: { code: 'invalid_client' } } })
        expect(answer.textAt('error.description')).toMatch(/^invalid signature: /)
      }
      expect(record.statements).toEqual([])
      record.stop()
    }
  })

  it('is told of a nonce that was used before, to its own client alone', async () => {
    const grant = await issueGrant(shop)
    const rotate = (client: Pick<TestClient, 'request'>) =>
      client.request('DELETE', grant.textAt('access_token.manage'), {
        accessToken: grant.textAt('access_token.value'),
        signature: { nonce: 'used-for-a-revocation' }
      })
    expect((await rotate(shop)).status).toBe(204)
    expect((await rotate(market)).textAt('error.description')).toMatch(/^unknown token/)
    expect((await rotate(shop)).textAt('error.description')).toMatch(/its nonce was used before/)
  })
})
