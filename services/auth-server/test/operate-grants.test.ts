import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, type RequestOf } from '@open-payments-server/grpc-transport'
import { auth as contract } from '@open-payments-server/proto'
import { ALICE, GrpcFixture, refusalOf, SHOP, spending, usd } from './support/grpc-fixture.js'
import type { RevocationEvent } from '../src/domain/revocations.js'

const { GrantState, TokenStatus } = contract
let auth: GrpcFixture
let failPublishing: Error | undefined

beforeAll(async () => {
  auth = await GrpcFixture.start({
    wrapBus: (bus) => ({
      publish: async (event) => {
        if (failPublishing !== undefined) throw failPublishing
        await bus.publish(event)
      },
      subscribe: (listener) => bus.subscribe(listener)
    })
  })
})
afterAll(() => auth.stop())

type ListRequest = RequestOf<contract.GrantOperatorServiceClient, 'listGrants'>

const list = (request: Partial<ListRequest> = {}) =>
  callUnary(auth.operator, 'listGrants', contract.ListGrantsRequest.create(request), { idempotent: false })
const idsOf = async (request: Partial<ListRequest>) =>
  (await list(request)).grants.map(({ grantId }) => grantId)
const revoke = (grantId: string) =>
  callUnary(auth.operator, 'revokeGrant', { grantId }, { idempotent: false })

describe('ListGrants', () => {
  it('tells what was asked for, by whom and when, without any secret', async () => {
    const interval = 'R/2026-01-01T00:00:00Z/P1M'
    const access = [spending({ interval, debitAmount: usd(18_446_744_073_709_551_615n) })]
    const { grantId } = await auth.grant({ access })
    const at = new Date(auth.clock.now())
    expect((await list({ pageSize: 1 })).grants).toEqual([
      {
        grantId,
        state: GrantState.GRANT_STATE_ISSUED,
        client: { walletAddress: SHOP, jwkThumbprint: '' },
        access: [
          {
            type: 'outgoing-payment',
            actions: ['create', 'read'],
            identifier: ALICE,
            limits: {
              receiver: '',
              interval,
              debitAmount: { value: '18446744073709551615', assetCode: 'USD', assetScale: 2 },
              receiveAmount: undefined
            }
          }
        ],
        createTime: at,
        updateTime: at
      }
    ])
  })

  it('lists newest first, and filters by identifier, client and state', async () => {
    const identifier = 'https://wallet.example/bob'
    const market = 'https://wallet.example/market'
    const grants: string[] = []
    for (const options of [
      { access: [spending({}, identifier)] },
      { access: [spending({}, identifier), spending({}, identifier)], clientWalletAddress: market },
      { access: [spending({}, identifier)], clientJwkThumbprint: 'thumb' },
      { access: [spending({}, identifier)], clientWalletAddress: market, state: 'rejected' as const },
      { access: [spending({})], clientWalletAddress: market }
    ]) {
      auth.clock.advanceSeconds(1)
      grants.unshift((await auth.grant(options)).grantId)
    }
    const [atAlice, rejected, byKey, ofMarket, first] = grants
    expect(await idsOf({ identifier })).toEqual([rejected, byKey, ofMarket, first])
    expect(await idsOf({ clientWalletAddress: market })).toEqual([atAlice, rejected, ofMarket])
    expect(await idsOf({ identifier, clientWalletAddress: market })).toEqual([rejected, ofMarket])
    expect(await idsOf({ identifier, state: GrantState.GRANT_STATE_ISSUED })).toEqual([
      byKey,
      ofMarket,
      first
    ])
    expect(await idsOf({ identifier: 'https://wallet.example/nobody' })).toEqual([])
  })

  it('goes through all grants page by page, each once, those of one instant and new ones included', async () => {
    auth.clock.advanceSeconds(1)
    for (let count = 0; count < 5; count += 1) await auth.grant({ access: [] })
    const all = await idsOf({ pageSize: 1_000 })
    const seen: string[] = []
    let pageToken = ''
    do {
      const page = await list({ pageSize: 2, pageToken })
      seen.push(...page.grants.map(({ grantId }) => grantId))
      pageToken = page.nextPageToken
      auth.clock.advanceSeconds(1)
      await auth.grant({ access: [] })
    } while (pageToken !== '')
    expect(all.length).toBeGreaterThan(5)
    expect(seen).toEqual(all)
  })

  it.each([
    ['page_size', { pageSize: 1_001 }],
    ['page_token', { pageToken: 'x' }],
    ['page_token', { pageToken: Buffer.from('99999999999999999.x').toString('base64url') }],
    ['identifier', { identifier: 'alice' }],
    ['identifier', { identifier: `${ALICE}\u0000` }],
    ['client_wallet_address', { clientWalletAddress: 'shop' }],
    ['state', { state: contract.GrantState.UNRECOGNIZED }]
  ])('is INVALID_ARGUMENT naming a malformed %s: %j', async (field, request) => {
    const refusal = await list(request).then(() => undefined, refusalOf)
    expect(refusal).toEqual({ error: 'INVALID_ARGUMENT', field })
  })
})

describe('RevokeGrant', () => {
  it('ends the grant and its token, tells the watchers, and answers the grant', async () => {
    const heard: RevocationEvent[] = []
    const subscription = await auth.bus.subscribe({
      onEvent: (event) => heard.push(event),
      onInterrupted: () => undefined,
      onResumed: () => undefined
    })
    const { grantId, token, tokenId } = await auth.grant({ access: [spending()] })
    expect(await auth.reserve(token)).toHaveProperty('reserved')
    auth.clock.advanceSeconds(5)
    const { grant } = await revoke(grantId)
    expect([grant?.grantId, grant?.state]).toEqual([grantId, GrantState.GRANT_STATE_REVOKED])
    expect(grant?.updateTime).toEqual(new Date(auth.clock.now()))
    expect((await auth.introspect(token)).status).toBe(TokenStatus.TOKEN_STATUS_INACTIVE)
    expect(await auth.reserve(token)).toEqual({ refused: 'INACTIVE_TOKEN' })
    const stored = await auth.prisma.accessToken.findUniqueOrThrow({ where: { id: tokenId } })
    expect([stored.endReason, stored.endedAt]).toEqual(['revoked', new Date(auth.clock.now())])
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual([{ kind: 'grant', grantId }])
    await subscription.close()
  })

  it('has no effect on the grant when it is repeated', async () => {
    const { grantId } = await auth.grant({ access: [] })
    const first = await revoke(grantId)
    auth.clock.advanceSeconds(5)
    expect(await revoke(grantId)).toEqual(first)
  })

  it.each(['pending', 'approved', 'rejected'] as const)('revokes a grant that is %s', async (state) => {
    const { grantId } = await auth.grant({ access: [], state })
    expect((await revoke(grantId)).grant?.state).toBe(GrantState.GRANT_STATE_REVOKED)
  })

  it('is UNAVAILABLE when the watchers could not be told, and tells them when it is repeated', async () => {
    const { grantId, token } = await auth.grant({ access: [] })
    failPublishing = new Error('no Redis')
    const refusal = await revoke(grantId).then(() => undefined, refusalOf)
    failPublishing = undefined
    expect(refusal).toEqual({ error: 'UNAVAILABLE' })
    expect((await auth.introspect(token)).status).toBe(TokenStatus.TOKEN_STATUS_INACTIVE)
    const heard: RevocationEvent[] = []
    const subscription = await auth.bus.subscribe({
      onEvent: (event) => heard.push(event),
      onInterrupted: () => undefined,
      onResumed: () => undefined
    })
    await revoke(grantId)
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual([{ kind: 'grant', grantId }])
    await subscription.close()
  })

  it('is NOT_FOUND for an unknown grant, INVALID_ARGUMENT for a malformed id', async () => {
    expect(await revoke(auth.newId()).catch(refusalOf)).toEqual({ error: 'NOT_FOUND', field: 'grant_id' })
    expect(await revoke('x').catch(refusalOf)).toEqual({ error: 'INVALID_ARGUMENT', field: 'grant_id' })
  })
})

describe('GetGrant', () => {
  it('tells what is spent under a grant in the interval that runs, and when it was used', async () => {
    const interval = 'R/2026-01-01T00:00:00Z/P1M'
    const { grantId, token } = await auth.grant({ access: [spending({ interval, debitAmount: usd(100n) })] })
    await auth.reserve(token, { debit: usd(30n) })
    const found = await callUnary(auth.operator, 'getGrant', { grantId }, { idempotent: true })
    expect(found.grant).toMatchObject({ grantId, state: GrantState.GRANT_STATE_ISSUED })
    expect(found.access).toHaveLength(1)
    expect(found.access[0]?.spentDebitAmount?.value).toBe('30')
    expect(found.access[0]?.intervalEndTime).toBeDefined()
    expect(found.lastUseTime).toBeDefined()
    expect(found.consentedBy).toBeUndefined()
  })

  it.each([
    ['x', 'INVALID_ARGUMENT'],
    ['0190a8b1-0000-7000-8000-000000000001', 'NOT_FOUND']
  ])('does not know %s', async (grantId, code) => {
    const call = callUnary(auth.operator, 'getGrant', { grantId }, { idempotent: true })
    expect(await call.catch(refusalOf)).toEqual({ error: code, field: 'grant_id' })
  })
})
