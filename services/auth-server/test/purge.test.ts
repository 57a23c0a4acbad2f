import { setTimeout as delay } from 'node:timers/promises'
import { scrapeMetrics } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { approve, continueGrant, decide, issueGrant, requestPendingGrant } from './grants.js'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

describe('what has been over for longer than it is kept', () => {
  let auth: TestAuthServer
  let shop: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer({ PURGE_INTERVAL_SECONDS: '1', METRICS_PORT: '0' })
    // The purge uses the earlier of its own clock and the database's.
    auth.clock.set(Date.now() - 31 * DAY_MS)
    shop = auth.createClient('shop')
  })
  afterAll(() => auth.stop())

  const purgedCounts = async (): Promise<unknown[]> => {
    const { at } = await scrapeMetrics(auth.server.metricsPort)
    return ['grant', 'token', 'refusal'].map((kind) => at(`open_payments_purged_total{kind="${kind}"}`))
  }

  it('is deleted by itself, is counted, and is from then on as unknown as what never was', async () => {
    const undecided = await requestPendingGrant(auth, shop)
    const rejected = await requestPendingGrant(auth, shop)
    await decide(auth, rejected, 'reject')
    const approved = await requestPendingGrant(auth, shop)
    const reference = await approve(auth, approved)
    const cancelled = await issueGrant(shop)
    await shop.request('DELETE', cancelled.textAt('continue.uri'), {
      accessToken: cancelled.textAt('continue.access_token.value')
    })
    const expired = await issueGrant(shop)

    auth.clock.set(Date.now() - 23 * HOUR_MS)
    const living = await issueGrant(shop)
    const rotated = await shop.request('POST', living.textAt('access_token.manage'), {
      accessToken: living.textAt('access_token.value')
    })
    auth.clock.set(Date.now() - 5 * HOUR_MS)
    const recent = await requestPendingGrant(auth, shop)

    auth.clock.set(Date.now())
    while ((await purgedCounts())[0] !== 5) await delay(20)
    for (const grant of [undecided, rejected, approved]) {
      expect(await continueGrant(shop, grant, reference)).toMatchObject(refusal(401, 'invalid_continuation'))
      expect(await auth.send('GET', grant.redirect)).toMatchObject(refusal(404, 'unknown_interaction'))
      expect(await decide(auth, grant, 'accept')).toMatchObject(refusal(404, 'unknown_interaction'))
    }
    for (const grant of [cancelled, expired]) {
      for (const method of ['POST', 'DELETE']) {
        const answer = await shop.request(method, grant.textAt('access_token.manage'), {
          accessToken: grant.textAt('access_token.value')
        })
        expect(answer).toMatchObject(refusal(401, 'invalid_client'))
      }
    }
    const again = await shop.request('POST', rotated.textAt('access_token.manage'), {
      accessToken: rotated.textAt('access_token.value')
    })
    expect(again.status).toBe(200)
    expect(await continueGrant(shop, recent)).toMatchObject(refusal(401, 'request_denied'))
    expect(await purgedCounts()).toEqual([5, 0, 0])
  })
})
