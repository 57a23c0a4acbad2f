import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { auth as contract } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import { startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import {
  continueGrant,
  createAccountHolder,
  decide,
  finishUrl,
  requestGrant,
  startInBrowser
} from './grants.js'

const DAY_MS = 86_400_000
const EVERYTHING = ['create', 'read', 'read-all', 'list', 'list-all']
const OWN = ['create', 'read', 'list']
const { ALLOWED_GRANT_STATE_ENDED, ALLOWED_GRANT_STATE_IN_FORCE } = contract.AllowedGrantState
const { TOKEN_STATUS_ACTIVE, TOKEN_STATUS_INACTIVE } = contract.TokenStatus

let auth: TestAuthServer
let shop: TestClient
let alice: string
let holder: contract.HolderGrantServiceClient
let introspection: contract.IntrospectionServiceClient

beforeAll(async () => {
  auth = await startTestAuthServer({ CONTINUATION_WAIT_SECONDS: '0' })
  shop = auth.createClient('shop')
  alice = createAccountHolder(auth)
  const target = `127.0.0.1:${String(auth.server.grpcPort)}`
  const channel = { target, deadlineMs: 20_000, retriesMax: 0, messageBytesMax: 1_048_576 }
  holder = createClient(contract.HolderGrantServiceClient, channel)
  introspection = createClient(contract.IntrospectionServiceClient, channel)
})
afterAll(async () => {
  holder.close()
  introspection.close()
  await auth.stop()
})

/** Up to 5.00 USD until an instant. */
const until = (endMs: number): Record<string, unknown> => ({
  interval: `R1/${new Date(auth.clock.now() - DAY_MS).toISOString()}/${new Date(endMs).toISOString()}`,
  debitAmount: { value: '500', assetCode: 'USD', assetScale: 2 }
})

const outgoing = (actions: readonly string[], limits?: Record<string, unknown>) => ({
  type: 'outgoing-payment',
  actions,
  identifier: alice,
  ...(limits === undefined ? {} : { limits })
})

const ask = (access: readonly unknown[]) =>
  requestGrant(shop, {
    client: shop.walletAddress,
    access_token: { access },
    interact: {
      start: ['redirect'],
      finish: { method: 'redirect', uri: 'https://shop.test/back', nonce: 'n' }
    }
  })

/** A grant that alice allowed, and its first token. */
async function allowed(access: readonly unknown[], acceptance: Record<string, unknown> = {}) {
  const grant = await ask(access)
  const cookie = await startInBrowser(auth, grant)
  expect(await decide(auth, grant, 'accept', acceptance)).toMatchObject({ status: 202 })
  const finished = await auth.send('GET', finishUrl(grant), { cookie })
  const reference = new URL(finished.headers.get('location') ?? '').searchParams.get('interact_ref') ?? ''
  const token = await continueGrant(shop, grant, reference)
  return { grantId: grant.continueUri.split('/').at(-1) ?? '', token }
}

const rotate = (token: Answer): Promise<Answer> =>
  shop.request('POST', token.textAt('access_token.manage'), {
    accessToken: token.textAt('access_token.value')
  })

const introspect = (token: Answer) =>
  callUnary(
    introspection,
    'introspect',
    { accessToken: token.textAt('access_token.value'), keyId: '' },
    { idempotent: true }
  )

const acting = () => ({
  holder: { issuer: 'https://login.example', sub: 'alice' },
  walletAddresses: [alice]
})
const seen = async (grantId: string) =>
  (await callUnary(holder, 'getAllowedGrant', { acting: acting(), grantId }, { idempotent: true })).grant
const stop = (grantId: string) =>
  callUnary(holder, 'stopGrant', { acting: acting(), grantId }, { idempotent: true })

describe('when nothing can be paid under a grant any more', () => {
  it('its client no longer sees what others made, with any token, and its holder sees and stops the rest', async () => {
    const endMs = auth.clock.now() + DAY_MS
    const { grantId, token } = await allowed([
      outgoing(EVERYTHING, until(endMs)),
      { type: 'incoming-payment', actions: ['list-all'], identifier: alice },
      { type: 'quote', actions: ['create', 'read-all'] }
    ])
    auth.clock.set(endMs - 1_000)
    const last = await rotate(token)
    expect(last.at('access_token.access.0.actions')).toEqual(EVERYTHING)
    const before = await introspect(last)
    expect(before.access.map(({ actions }) => actions)).toEqual([
      EVERYTHING,
      ['list-all'],
      ['create', 'read-all']
    ])
    // Whoever caches it asks again then.
    expect(before.expireTime).toEqual(new Date(endMs))
    expect(await seen(grantId)).toMatchObject({
      state: ALLOWED_GRANT_STATE_IN_FORCE,
      paymentEndTime: new Date(endMs),
      endTime: undefined
    })

    auth.clock.set(endMs)
    const after = await introspect(last)
    expect(after.status).toBe(TOKEN_STATUS_ACTIVE)
    expect(after.access.map(({ actions }) => actions)).toEqual([OWN, ['create']])
    expect(after.expireTime?.getTime()).toBeGreaterThan(endMs)
    auth.clock.advanceSeconds(400 * 86_400)
    const rotated = await rotate(last)
    expect(rotated.at('access_token.access')).toMatchObject([{ actions: OWN }, { type: 'quote' }])
    expect((await introspect(rotated)).access.map(({ actions }) => actions)).toEqual([OWN, ['create']])

    expect(await seen(grantId)).toMatchObject({ state: ALLOWED_GRANT_STATE_IN_FORCE, isStoppable: true })
    expect((await stop(grantId)).grant).toMatchObject({
      state: ALLOWED_GRANT_STATE_ENDED,
      isStoppable: false
    })
    expect(await introspect(rotated)).toMatchObject({ status: TOKEN_STATUS_INACTIVE })
  })

  it.each([
    ['it could only pay', ['create']],
    ['it could pay, and see what others made', ['create', 'read-all', 'list-all']]
  ])(
    'it has ended if %s: no token is active or rotated, and stopping it still counts',
    async (_what, actions) => {
      const endMs = auth.clock.now() + 60_000
      const { grantId, token } = await allowed([outgoing(actions, until(endMs))])
      expect(token.at('access_token.expires_in')).toBe(60)
      expect(await seen(grantId)).toMatchObject({
        state: ALLOWED_GRANT_STATE_IN_FORCE,
        endTime: new Date(endMs)
      })
      expect(await introspect(token)).toMatchObject({ status: TOKEN_STATUS_ACTIVE })
      auth.clock.set(endMs)
      expect(await introspect(token)).toMatchObject({ status: TOKEN_STATUS_INACTIVE })
      expect(await rotate(token)).toMatchObject({
        status: 404,
        body: { error: { code: 'invalid_rotation' } }
      })
      expect(await seen(grantId)).toMatchObject({ state: ALLOWED_GRANT_STATE_ENDED, isStoppable: true })
      expect((await stop(grantId)).grant).toMatchObject({ isStoppable: false })
    }
  )

  it('it goes on where one of its payments does', async () => {
    const endMs = auth.clock.now() + 60_000
    const { token } = await allowed([outgoing(EVERYTHING, until(endMs)), outgoing(['create'])])
    auth.clock.set(endMs)
    expect((await introspect(token)).access[0]?.actions).toEqual(EVERYTHING)
  })
})

it('what the version before issued ends as well, if nothing is left of it then', async () => {
  const endMs = auth.clock.now() + 60_000
  const grants = [
    await allowed([outgoing(['create', 'list-all'], until(endMs))]),
    await allowed([outgoing(['create', 'read'], until(endMs))]),
    await allowed([outgoing(['create'])])
  ]
  await auth.database.query('update grant_request set ends_at = null')
  const migration = '../prisma/migrations/20261214000000_end_grants_of_which_nothing_is_left/migration.sql'
  const script = await readFile(new URL(migration, import.meta.url), 'utf8')
  await auth.database.query(script)
  const ends = await Promise.all(grants.map(async ({ grantId }) => (await seen(grantId))?.endTime))
  expect(ends).toEqual([new Date(endMs), undefined, undefined])
})

describe('a last day that its account holder sets when they allow it', () => {
  it('ends it, with all of its tokens', async () => {
    const endMs = auth.clock.now() + 60_000
    const { grantId, token } = await allowed([outgoing(EVERYTHING)], {
      endsAt: new Date(endMs).toISOString()
    })
    expect(token.at('access_token.expires_in')).toBe(60)
    expect(await seen(grantId)).toMatchObject({
      state: ALLOWED_GRANT_STATE_IN_FORCE,
      endTime: new Date(endMs),
      consentedEndTime: new Date(endMs)
    })
    expect(
      await auth.database.query('select ends_at from grant_expiry where grant_id = $1', [grantId])
    ).toEqual([{ ends_at: new Date(endMs) }])
    const earlier = new Date(endMs - 10_000)
    const lowered = { acting: acting(), grantId, limits: [], endTime: earlier }
    expect((await callUnary(holder, 'lowerGrant', lowered, { idempotent: true })).grant).toMatchObject({
      endTime: earlier,
      consentedEndTime: new Date(endMs)
    })
    auth.clock.set(earlier.getTime())
    expect(await introspect(token)).toMatchObject({ status: TOKEN_STATUS_INACTIVE })
    expect(await rotate(token)).toMatchObject({ status: 404 })
    expect(await seen(grantId)).toMatchObject({ state: ALLOWED_GRANT_STATE_ENDED })
  })

  it('that passes before its client collects it leaves nothing to collect', async () => {
    const grant = await ask([outgoing(EVERYTHING)])
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'accept', { endsAt: new Date(auth.clock.now() + 1_000).toISOString() })
    const finished = await auth.send('GET', finishUrl(grant), { cookie })
    const reference = new URL(finished.headers.get('location') ?? '').searchParams.get('interact_ref') ?? ''
    auth.clock.advanceSeconds(1)
    const answer = await continueGrant(shop, grant, reference)
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'request_denied' } } })
  })

  it.each([
    ['now', () => new Date(auth.clock.now()).toISOString()],
    ['no instant', () => '2027-13-01T00:00:00Z'],
    ['a day', () => '2027-01-01'],
    ['no text', () => 5]
  ])('is refused by its name if it is %s, and nothing is decided', async (_what, endsAt) => {
    const grant = await ask([outgoing(OWN)])
    expect(await decide(auth, grant, 'accept', { endsAt: endsAt() })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', details: { endsAt: expect.any(String) } } }
    })
    const shown = await auth.identityProvider('GET', `/grant/${grant.interactionId}/${grant.nonce}`)
    expect(shown.at('state')).toBe('PENDING')
  })
})

describe('a grant whose last interval was over when it was asked for', () => {
  it.each([
    ['long ago', () => 'R12/2019-08-24T14:15:22Z/P1M'],
    ['this very moment', () => `R3/PT1S/${new Date(auth.clock.now()).toISOString()}`]
  ])('%s shows nothing of others, and is stopped as any other', async (_what, interval) => {
    const { grantId, token } = await allowed([outgoing(EVERYTHING, { interval: interval() })])
    expect(token.at('access_token.access')).toMatchObject([{ actions: OWN }])
    const { status, access } = await introspect(token)
    expect([status, access.map(({ actions }) => actions)]).toEqual([TOKEN_STATUS_ACTIVE, [OWN]])
    expect(await seen(grantId)).toMatchObject({ state: ALLOWED_GRANT_STATE_IN_FORCE, isStoppable: true })
    expect((await stop(grantId)).grant).toMatchObject({ state: ALLOWED_GRANT_STATE_ENDED })
    expect(await introspect(token)).toMatchObject({ status: TOKEN_STATUS_INACTIVE })
  })

  it('keeps a token that could only pay, whose payments are outside its interval', async () => {
    const { token } = await allowed([outgoing(['create'], { interval: 'R1/2020-01-01T00:00:00Z/P1D' })])
    expect(await introspect(token)).toMatchObject({ status: TOKEN_STATUS_ACTIVE })
  })
})
