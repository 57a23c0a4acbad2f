import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { createPrismaAdapter } from '@open-payments-server/database'
import { callUnary, createClient, isRpcError, readStream, status } from '@open-payments-server/grpc-transport'
import { auth as contract, events } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { issueGrant } from '../src/features/continue-grant/issue-grant.js'
import { PrismaClient } from '../src/generated/prisma/client.js'
import { approve, continueGrant, issueGrant as issueToShop, requestPendingGrant } from './grants.js'

let auth: TestAuthServer
let shop: TestClient
let operator: contract.GrantOperatorServiceClient
let introspection: contract.IntrospectionServiceClient
let limits: contract.GrantLimitsServiceClient
let eventClient: events.EventServiceClient

beforeAll(async () => {
  auth = await startTestAuthServer({ CONTINUATION_WAIT_SECONDS: '0' })
  shop = auth.createClient('shop')
  const options = {
    target: `127.0.0.1:${String(auth.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  }
  operator = createClient(contract.GrantOperatorServiceClient, options)
  introspection = createClient(contract.IntrospectionServiceClient, options)
  limits = createClient(contract.GrantLimitsServiceClient, options)
  eventClient = createClient(events.EventServiceClient, options)
  await issueToShop(shop)
})
afterEach(() => order(false))
afterAll(async () => {
  for (const client of [operator, introspection, limits, eventClient]) client.close()
  await auth.stop()
})

const order = async (freezes: boolean, client = shop.walletAddress, reason = '') => {
  const method = freezes ? 'freezeClient' : 'unfreezeClient'
  return (await callUnary(operator, method, { client, reason }, { idempotent: false })).client
}
const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => {
      if (!isRpcError(error)) throw error
      return `${status[error.code]} ${String(error.field)}`
    }
  )
const frozen = {
  status: 403,
  body: {
    error: {
      code: 'request_denied',
      description: 'the client is frozen',
      details: { reason: 'client_frozen' }
    }
  }
}
const request = (client: TestClient): Promise<Answer> =>
  client.request('POST', PUBLIC_URL, {
    body: { client: client.walletAddress, access_token: { access: [{ type: 'quote', actions: ['create'] }] } }
  })
const count = async (table: string): Promise<number> => {
  const [row] = await auth.database.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return row?.count ?? NaN
}
const introspect = (accessToken: string) =>
  callUnary(introspection, 'introspect', { accessToken, keyId: '' }, { idempotent: true })

describe('a frozen client', () => {
  it('gets no grant, and nothing is stored for it', async () => {
    await order(true)
    const before = [await count('grant_request'), await count('access_item'), await count('access_token')]
    const other = auth.createClient('other')
    // Together, in one statement: the others are not affected.
    const [mine, others] = await Promise.all([request(shop), request(other)])
    expect(mine).toMatchObject(frozen)
    expect(others).toMatchObject({ status: 200 })
    const [grants = 0, items = 0, tokens = 0] = before
    expect([await count('grant_request'), await count('access_item'), await count('access_token')]).toEqual([
      grants + 1,
      items + 1,
      tokens + 1
    ])
    await expect(requestPendingGrant(auth, shop)).rejects.toThrow()
    expect(await count('interaction')).toBe(0)
    await order(false)
    expect(await request(shop)).toMatchObject({ status: 200 })
  })

  it('cannot continue a grant; once it is unfrozen it can', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const polled = await requestPendingGrant(auth, shop, { finish: false })
    const reference = await approve(auth, grant)
    await order(true)
    expect(await continueGrant(shop, grant, reference)).toMatchObject(frozen)
    expect(await continueGrant(shop, polled)).toMatchObject(frozen)
    await order(false)
    expect(await continueGrant(shop, polled)).toMatchObject({ status: 200 })
    expect(await continueGrant(shop, grant, reference)).toMatchObject({ status: 200 })
  })

  it('is issued no grant, also where its request was authorized before', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await approve(auth, grant)
    await order(true)
    const prisma = new PrismaClient({ adapter: createPrismaAdapter(auth.server.pool, 'none') })
    const issue = () =>
      issueGrant(prisma, { id: grant.continueUri.slice(-36), access: [] }, undefined, auth.clock.now())
    try {
      expect(await issue()).toBe('client-frozen')
      await order(false)
      expect(await issue()).toEqual({ endsAtMs: undefined })
      await order(true)
      expect(await issue()).toBe('client-frozen')
      await order(false)
      expect(await issue()).toBe('over')
    } finally {
      await prisma.$disconnect()
    }
  })

  it('cannot rotate its token, which stays as it was', async () => {
    const grant = await issueToShop(shop)
    const accessToken = grant.textAt('access_token.value')
    const manage = grant.textAt('access_token.manage')
    await order(true)
    expect(await shop.request('POST', manage, { accessToken })).toMatchObject(frozen)
    expect(await introspect(accessToken)).toMatchObject({
      status: contract.TokenStatus.TOKEN_STATUS_ACTIVE,
      clientFrozen: true
    })
    await order(false)
    expect(await introspect(accessToken)).toMatchObject({ clientFrozen: false })
    expect(await shop.request('POST', manage, { accessToken })).toMatchObject({ status: 200 })
  })

  it('can still give its tokens up', async () => {
    const grant = await issueToShop(shop)
    await order(true)
    const given = await shop.request('DELETE', grant.textAt('access_token.manage'), {
      accessToken: grant.textAt('access_token.value')
    })
    expect(given).toMatchObject({ status: 204 })
  })

  it('reserves nothing, and the same payment is reserved once it is unfrozen', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const issued = await continueGrant(shop, grant, await approve(auth, grant))
    const accessToken = issued.textAt('access_token.value')
    const payment = {
      accessToken,
      walletAddress: issued.textAt('access_token.access.0.identifier'),
      receiver: 'https://wallet.example/incoming-payments/1',
      debitAmount: { value: '10', assetCode: 'USD', assetScale: 2 },
      receiveAmount: { value: '10', assetCode: 'USD', assetScale: 2 },
      requestHash: Buffer.alloc(32)
    }
    const reserve = async (...paymentIds: string[]) => {
      const reservations = paymentIds.map((paymentId) => ({ paymentId, ...payment }))
      return (await callUnary(limits, 'reserve', { reservations }, { idempotent: true })).results.map(
        ({ result }) => (result?.$case === 'refused' ? result.value.reason : result?.$case)
      )
    }
    const [before, during] = ['019aa000-0000-7000-8000-000000000001', '019aa000-0000-7000-8000-000000000002']
    expect(await reserve(before)).toEqual(['reserved'])
    await order(true)
    const refused = contract.RefusalReason.REFUSAL_REASON_CLIENT_FROZEN
    // Also for what it had reserved before: whoever asks has no payment yet, and must not make one now.
    expect(await reserve(before, during)).toEqual([refused, refused])
    expect(await count('reservation')).toBe(1)
    await order(false)
    expect(await reserve(before, during)).toEqual(['reserved', 'reserved'])
  })
})

describe('FreezeClient', () => {
  it('keeps the first freeze, lists it, and tells of it once', async () => {
    const first = await order(true, shop.walletAddress, 'stolen key')
    expect(first).toMatchObject({ frozen: true, reason: 'stolen key', frozenBy: '' })
    expect(await order(true, `${shop.walletAddress}/`, 'another')).toEqual(first)
    const listed = await callUnary(
      operator,
      'listFrozenClients',
      { pageSize: 0, pageToken: '', client: '' },
      { idempotent: true }
    )
    expect(listed.clients).toEqual([first])
    expect(await order(false, shop.walletAddress, 'new key')).toMatchObject({ frozen: false, reason: '' })
    expect(await order(false)).toMatchObject({ frozen: false })
    while ((await count('event_outbox')) > 0) await new Promise(setImmediate)
    const request = { afterCursor: '', types: ['client.frozen', 'client.unfrozen'], pageSize: 1_000 }
    const told = (await callUnary(eventClient, 'listEvents', request, { idempotent: true })).events.slice(-2)
    expect(told.map(({ type, subject, data }) => [type, subject, JSON.parse(data)])).toEqual([
      [
        'client.frozen',
        shop.walletAddress,
        {
          id: shop.walletAddress,
          client: { walletAddress: shop.walletAddress },
          frozen: true,
          by: '',
          reason: 'stolen key'
        }
      ],
      ['client.unfrozen', shop.walletAddress, expect.objectContaining({ frozen: false, reason: 'new key' })]
    ])
  })

  it('is ended only where it is the freeze that was shown', async () => {
    const end = (freezeTime: Date | undefined) =>
      callUnary(
        operator,
        'unfreezeClient',
        { client: shop.walletAddress, reason: '', freezeTime },
        { idempotent: false }
      )
    const shown = await order(true, shop.walletAddress, 'stolen key')
    await order(false)
    auth.clock.advanceSeconds(1)
    const another = await order(true, shop.walletAddress, 'court order')
    expect(await refusalOf(end(shown?.freezeTime))).toBe('FAILED_PRECONDITION freeze_time')
    expect(await order(true)).toEqual(another)
    expect((await end(another?.freezeTime)).client).toMatchObject({ frozen: false })
    // It has ended already.
    expect((await end(another?.freezeTime)).client).toMatchObject({ frozen: false })
    expect(await refusalOf(end(new Date(-1e15)))).toBe('INVALID_ARGUMENT freeze_time')
  })

  it('is told to the watchers of revocations', async () => {
    const abort = new AbortController()
    const told: unknown[] = []
    for await (const { event } of readStream(
      introspection,
      'watchRevocations',
      {},
      { signal: abort.signal }
    )) {
      told.push(event?.$case === 'clientFreezeChanged' ? event.value.client?.walletAddress : event?.$case)
      if (event?.$case === 'started') await order(true)
      if (event?.$case === 'clientFreezeChanged') break
    }
    expect(told.at(-1)).toBe(shop.walletAddress)
  })

  it('knows a client without a wallet address by the thumbprint of its key', async () => {
    const thumbprint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
    await auth.database.query(
      `insert into grant_request (id, state, client_jwk_thumbprint, key_id, key_x, continuation_token_hash, created_at, updated_at)
       values (gen_random_uuid(), 'revoked', $1, 'k', 'x', '\\x00', now(), now())`,
      [thumbprint]
    )
    for (const name of [thumbprint, `jwk:${thumbprint}`])
      expect(await order(true, name)).toMatchObject({
        client: { walletAddress: '', jwkThumbprint: thumbprint },
        frozen: true
      })
    await order(false, thumbprint)
  })

  it('ends the freeze of a client whose grants were all purged', async () => {
    const grants = `grant_request where client_jwk_thumbprint = '${'B'.repeat(43)}'`
    await auth.database.query(
      `insert into grant_request (id, state, client_jwk_thumbprint, key_id, key_x, continuation_token_hash, created_at, updated_at)
       values (gen_random_uuid(), 'revoked', $1, 'k', 'x', '\\x01', now(), now())`,
      ['B'.repeat(43)]
    )
    const first = await order(true, 'B'.repeat(43), 'stolen key')
    await auth.database.query(`delete from ${grants}`)
    expect(await order(true, 'B'.repeat(43))).toEqual(first)
    expect(await order(false, 'B'.repeat(43))).toMatchObject({ frozen: false })
    expect(await count('client_freeze where frozen_at is not null')).toBe(0)
  })

  it('refuses a client that never asked for a grant, and a reason that is too long', async () => {
    for (const name of ['https://nobody.example/wallet', 'x', '', 'A'.repeat(43), `jwk:${'A'.repeat(43)}`])
      expect(await refusalOf(order(true, name))).toBe('NOT_FOUND client')
    expect(await refusalOf(order(true, shop.walletAddress, 'x'.repeat(257)))).toBe('INVALID_ARGUMENT reason')
    expect(await count('client_freeze where frozen_at is not null')).toBe(0)
  })
})
