import { createPrismaAdapter } from '@open-payments-server/database'
import { systemRandom } from '@open-payments-server/runtime'
import { type Answer, createTestKey, recordStatements } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { makeToken } from '../src/domain/new-token.js'
import { createAddresses } from '../src/domain/urls.js'
import { PrismaClient } from '../src/generated/prisma/client.js'
import { createRotateToken } from '../src/modules/tokens/index.js'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { approve, continueGrant, issueGrant, requestPendingGrant } from './grants.js'

const INVALID_ROTATION = { status: 404, body: { error: { code: 'invalid_rotation' } } }
const UNKNOWN_TOKEN = { status: 401, body: { error: { code: 'invalid_client' } } }

describe('a token that a replica remembers from when it issued it', () => {
  let auth: TestAuthServer
  let other: TestAuthServer
  let shop: TestClient
  let shopAtOther: Pick<TestClient, 'request'>

  beforeAll(async () => {
    auth = await startTestAuthServer({ CONTINUATION_WAIT_SECONDS: '0' })
    other = await startTestAuthServer({ DATABASE_URL: auth.database.url })
    shop = auth.createClient('shop')
    shopAtOther = other.signWith(shop.key)
  })
  afterAll(async () => {
    await other.stop()
    await auth.stop()
  })

  const manage = (client: Pick<TestClient, 'request'>, method: string, issued: Answer): Promise<Answer> =>
    client.request(method, issued.textAt('access_token.manage'), {
      accessToken: issued.textAt('access_token.value')
    })
  const rotate = (issued: Answer, client: Pick<TestClient, 'request'> = shop) =>
    manage(client, 'POST', issued)
  const revoke = (issued: Answer, client: Pick<TestClient, 'request'> = shop) =>
    manage(client, 'DELETE', issued)
  const grantIdOf = (issued: Answer): string => issued.textAt('continue.uri').split('/').at(-1) ?? ''
  const tokenIdOf = (issued: Answer): string => issued.textAt('access_token.manage').split('/').at(-1) ?? ''
  const livingTokens = async (issued: Answer): Promise<number> => {
    const rows = await auth.database.query(
      'select 1 from access_token where grant_id = $1 and ended_at is null',
      [grantIdOf(issued)]
    )
    return rows.length
  }
  /** Number of statements that a replica sends for an action. */
  const statementsOf = async (
    work: () => Promise<Answer>,
    expectedStatus: number,
    at = auth
  ): Promise<[Answer, number]> => {
    const record = recordStatements(at.server.pool)
    const answer = await work()
    record.stop()
    expect(answer.status).toBe(expectedStatus)
    return [answer, record.statements.length]
  }

  it('is rotated, again and again, and revoked with one statement each', async () => {
    const issued = await issueGrant(shop)
    const [second, forRotating] = await statementsOf(() => rotate(issued), 200)
    const [third, forRotatingAgain] = await statementsOf(() => rotate(second), 200)
    const [, forRevoking] = await statementsOf(() => revoke(third), 204)
    expect([forRotating, forRotatingAgain, forRevoking]).toEqual([1, 1, 1])
    expect(await livingTokens(issued)).toBe(0)
  })

  it('is rotated with one statement, too, where an account holder agreed to it, and allows what it did', async () => {
    const grant = await requestPendingGrant(auth, shop, {
      limits: {
        debitAmount: { value: '18446744073709551615', assetCode: 'USD', assetScale: 2 },
        interval: 'R/2026-11-01T00:00:00Z/P1M'
      }
    })
    const issued = await continueGrant(shop, grant, await approve(auth, grant))
    const [rotated, statements] = await statementsOf(() => rotate(issued), 200)
    expect(statements).toBe(1)
    expect(rotated.at('access_token.access')).toEqual(issued.at('access_token.access'))
  })

  it('is looked up by a replica that does not know it, which remembers the next one', async () => {
    const issued = await issueGrant(shop)
    const [second, forRotating] = await statementsOf(() => rotate(issued, shopAtOther), 200, other)
    const [, forRotatingAgain] = await statementsOf(() => rotate(second, shopAtOther), 200, other)
    expect([forRotating, forRotatingAgain]).toEqual([2, 1])
  })

  it('can be rotated when it has expired', async () => {
    const issued = await issueGrant(shop)
    auth.clock.advanceSeconds(86_400)
    const [, statements] = await statementsOf(() => rotate(issued), 200)
    expect(statements).toBe(1)
    other.clock.set(auth.clock.now())
  })

  it('is refused once another replica rotated it, which leaves the one new token alone', async () => {
    const issued = await issueGrant(shop)
    const rotated = await rotate(issued, shopAtOther)
    expect(await rotate(issued)).toMatchObject(INVALID_ROTATION)
    expect(await rotate(issued)).toMatchObject(INVALID_ROTATION)
    expect((await revoke(issued)).status).toBe(204)
    expect(await livingTokens(issued)).toBe(1)
    expect((await rotate(rotated)).status).toBe(200)
  })

  it('is refused once another replica revoked it', async () => {
    const issued = await issueGrant(shop)
    expect((await revoke(issued, shopAtOther)).status).toBe(204)
    expect(await rotate(issued)).toMatchObject(INVALID_ROTATION)
    expect((await revoke(issued)).status).toBe(204)
    expect(await livingTokens(issued)).toBe(0)
  })

  it('is refused once another replica cancelled its grant', async () => {
    const issued = await issueGrant(shop)
    const cancelled = await shopAtOther.request('DELETE', issued.textAt('continue.uri'), {
      accessToken: issued.textAt('continue.access_token.value')
    })
    expect(cancelled.status).toBe(204)
    expect(await rotate(issued)).toMatchObject(INVALID_ROTATION)
    expect(await livingTokens(issued)).toBe(0)
  })

  it('is refused when its grant is over, also where the token was overlooked', async () => {
    const issued = await issueGrant(shop)
    await auth.database.query("update grant_request set state = 'revoked' where id = $1", [grantIdOf(issued)])
    expect(await rotate(issued)).toMatchObject(INVALID_ROTATION)
  })

  it('is unknown once it was deleted', async () => {
    const [one, two] = [await issueGrant(shop), await issueGrant(shop)]
    await auth.database.query('delete from grant_request where id = any($1)', [[one, two].map(grantIdOf)])
    expect(await rotate(one)).toMatchObject(UNKNOWN_TOKEN)
    expect(await revoke(two)).toMatchObject(UNKNOWN_TOKEN)
  })

  it('is rotated for its holder alone', async () => {
    const issued = await issueGrant(shop)
    const market = auth.createClient('market')
    for (const client of [market, auth.signWith(createTestKey(shop.key.keyId))]) {
      expect(await rotate(issued, client)).toMatchObject(UNKNOWN_TOKEN)
      expect(await revoke(issued, client)).toMatchObject(UNKNOWN_TOKEN)
    }
    expect((await rotate(issued)).status).toBe(200)
  })

  it('is not rotated twice with one signature that has a nonce', async () => {
    const issued = await issueGrant(shop)
    const withNonce = (method: string) =>
      shop.request(method, issued.textAt('access_token.manage'), {
        accessToken: issued.textAt('access_token.value'),
        signature: { nonce: 'used-for-a-rotation' }
      })
    const answers = await Promise.all([withNonce('POST'), withNonce('POST')])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
    const refused = answers.find(({ status }) => status === 401)
    expect(refused?.textAt('error.description')).toMatch(/its nonce was used before/)
  })

  it('shares the statement with others that are rotated at the same time, each for itself', async () => {
    const asked = [
      { type: 'quote', actions: ['create'] },
      { type: 'incoming-payment', actions: ['read', 'list'] },
      { type: 'incoming-payment', actions: ['create'], identifier: 'https://wallet.test/bob' }
    ]
    const issued = await Promise.all(
      asked.map((item) =>
        shop.request('POST', PUBLIC_URL, {
          body: { client: shop.walletAddress, access_token: { access: [item] } }
        })
      )
    )
    const over = await issueGrant(shop)
    await revoke(over)
    const prisma = new PrismaClient({ adapter: createPrismaAdapter(auth.server.pool, 'none') })
    const rotateAtOnce = createRotateToken({ database: prisma })
    const maker = {
      clock: auth.clock,
      random: systemRandom,
      addresses: createAddresses(PUBLIC_URL),
      tokenLifetimeSeconds: 600
    }
    const record = recordStatements(auth.server.pool)
    const rotations = await Promise.all(
      [over, ...issued].map((one) => rotateAtOnce(tokenIdOf(one), makeToken(maker)))
    )
    record.stop()
    await prisma.$disconnect()
    // The second one tells why the revoked token was not rotated.
    expect(record.statements).toHaveLength(2)
    expect(rotations).toEqual([
      { kind: 'over' },
      ...asked.map((item) => ({ kind: 'rotated', access: [item], expiresAtMs: auth.clock.now() + 600_000 }))
    ])
    expect(await Promise.all(issued.map(livingTokens))).toEqual([1, 1, 1])
  })

  it('is rotated by one of two replicas that rotate many of them at once, in whatever order', async () => {
    const issued = await Promise.all(Array.from({ length: 16 }, () => issueGrant(shop)))
    const [here, there] = await Promise.all([
      Promise.all(issued.map((one) => rotate(one))),
      Promise.all(issued.toReversed().map((one) => rotate(one, shopAtOther)))
    ])
    const pairs = here.map((answer, index) => [answer.status, there.at(-1 - index)?.status].sort())
    expect(pairs).toEqual(issued.map(() => [200, 404]))
    expect(await Promise.all(issued.map(livingTokens))).toEqual(issued.map(() => 1))
  })
})
