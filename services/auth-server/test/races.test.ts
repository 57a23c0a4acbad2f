import { setTimeout as delay } from 'node:timers/promises'
import { createLogger } from '@open-payments-server/runtime'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { createInProcessStore } from '@open-payments-server/shared-store'
import type { Answer } from '@open-payments-server/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { RevocationEvent } from '../src/domain/revocations.js'
import { createRevocationBus } from '../src/modules/tokens/index.js'
import { startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { approve, continueGrant, decide, issueGrant, requestPendingGrant } from './grants.js'
import { whileLocked } from './support/while-locked.js'

const statuses = (answers: readonly Answer[]): number[] => answers.map((answer) => answer.status).sort()
const times = <Result>(count: number, work: () => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, work))

describe('when several try at once', () => {
  const sharedStore = createInProcessStore()
  const told: RevocationEvent[] = []
  let auth: TestAuthServer
  let shop: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer({}, { sharedStore })
    shop = auth.createClient('shop')
    const logger = createLogger({ service: 'test', level: 'silent' })
    await createRevocationBus({ sharedStore, logger }).subscribe({
      onEvent: (event) => told.push(event),
      onInterrupted: () => undefined,
      onResumed: () => undefined
    })
  })
  afterAll(async () => {
    await auth.stop()
    await sharedStore.close()
  })
  beforeEach(() => {
    told.length = 0
  })

  const countTokens = async (grantUri: string): Promise<unknown> => {
    const [row] = await auth.database.query<{ all: string; living: string }>(
      'select count(*) as all, count(*) filter (where ended_at is null) as living from access_token where grant_id = $1',
      [grantUri.split('/').at(-1)]
    )
    return row
  }

  it('one of four continuations gets the token, the others 401 request_denied', async () => {
    for (let round = 0; round < 5; round += 1) {
      const grant = await requestPendingGrant(auth, shop)
      const reference = await approve(auth, grant)
      auth.clock.advanceSeconds(5)
      const answers = await times(4, () => continueGrant(shop, grant, reference))
      expect(statuses(answers)).toEqual([200, 401, 401, 401])
      const refused = answers.filter((answer) => answer.status === 401)
      expect(refused.map((answer) => answer.at('error.code'))).toEqual(Array(3).fill('request_denied'))
      expect(await countTokens(grant.continueUri)).toEqual({ all: '1', living: '1' })
    }
  })

  it('one of five rotations wins, the others get 404 invalid_rotation', async () => {
    for (let round = 0; round < 5; round += 1) {
      const grant = await issueGrant(shop)
      const accessToken = grant.textAt('access_token.value')
      const manage = grant.textAt('access_token.manage')
      const answers = await times(5, () => shop.request('POST', manage, { accessToken }))
      expect(statuses(answers)).toEqual([200, 404, 404, 404, 404])
      const refused = answers.filter((answer) => answer.status === 404)
      expect(refused.map((answer) => answer.at('error.code'))).toEqual(Array(4).fill('invalid_rotation'))
      expect(await countTokens(grant.textAt('continue.uri'))).toEqual({ all: '2', living: '1' })
    }
  })

  it('one of five polls is answered, the others come too fast', async () => {
    const grant = await requestPendingGrant(auth, shop, { finish: false })
    for (let round = 0; round < 5; round += 1) {
      auth.clock.advanceSeconds(5)
      const answers = await times(5, () => continueGrant(shop, grant))
      expect(statuses(answers)).toEqual([200, 400, 400, 400, 400])
    }
  })

  it('one of several choices counts, and grant and interaction agree on it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const grant = await requestPendingGrant(auth, shop)
      const choices = ['accept', 'reject', 'accept', 'reject'] as const
      const lock = {
        text: `select 1 from grant_request
                where id = (select grant_id from interaction where id = $1) for update`,
        values: [grant.interactionId],
        waiting: choices.length
      }
      const answers = await whileLocked(auth.database, lock, () =>
        Promise.all(choices.map((choice) => decide(auth, grant, choice)))
      )
      expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1)
      const [row] = await auth.database.query(
        'select g.state as grant, i.state as interaction from grant_request g join interaction i on i.grant_id = g.id where i.id = $1',
        [grant.interactionId]
      )
      expect([
        { grant: 'approved', interaction: 'APPROVED' },
        { grant: 'rejected', interaction: 'DENIED' }
      ]).toContainEqual(row)
    }
  })

  it('a cancelled grant has no living token, whatever raced with the cancellation', async () => {
    for (let round = 0; round < 5; round += 1) {
      const grant = await requestPendingGrant(auth, shop)
      const reference = await approve(auth, grant)
      auth.clock.advanceSeconds(5)
      const accessToken = grant.continuationToken
      const [cancelled] = await Promise.all([
        shop.request('DELETE', grant.continueUri, { accessToken }),
        continueGrant(shop, grant, reference)
      ])
      expect(cancelled.status).toBe(204)
      const living = await auth.database.query(
        `select 1 from access_token t join grant_request g on g.id = t.grant_id
          where g.id = $1 and t.ended_at is null and g.state = 'issued'`,
        [grant.continueUri.split('/').at(-1)]
      )
      expect(living).toEqual([])
    }
  })

  it('every rotation, revocation and cancellation is told to those who rely on the tokens', async () => {
    const grant = await issueGrant(shop)
    const first = grant.textAt('access_token.value')
    const rotated = await shop.request('POST', grant.textAt('access_token.manage'), { accessToken: first })
    const second = rotated.textAt('access_token.value')
    await shop.request('DELETE', rotated.textAt('access_token.manage'), { accessToken: second })
    await shop.request('DELETE', grant.textAt('continue.uri'), {
      accessToken: grant.textAt('continue.access_token.value')
    })
    while (told.length < 3) await delay(1)
    expect(told).toEqual([
      { kind: 'token', accessTokenHash: hashSecret(first) },
      { kind: 'token', accessTokenHash: hashSecret(second) },
      { kind: 'grant', grantId: grant.textAt('continue.uri').split('/').at(-1) }
    ])
  })
})
