import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, send } from '@open-payments-server/testing'
import { consentedToken, outgoingAccess, requestToken } from '../src/consent.js'
import { allSettled, amount, createReceiver, eventually, pay } from '../src/payments.js'
import { startSystem, type System, type TestClient } from '../src/system.js'

/** The answers of the resource server that clients depend on, one by one. */
describe('the resource server answers', () => {
  let system: System
  let receiver: { url: string; token: string }
  beforeAll(async () => {
    // A fee of 5 and a half percent, so that small amounts deliver nothing.
    system = await startSystem({ resource: { FEES: 'USD=5+50' } })
    receiver = await createReceiver(system, system.shop)
  })
  afterAll(() => system.stop())

  const expectError = (answer: Answer, status: number, description: string | RegExp): void => {
    expect({ status: answer.status, code: answer.at('error.code') }).toEqual({ status, code: String(status) })
    expect(answer.at('error.description')).toEqual(
      typeof description === 'string' ? description : expect.stringMatching(description)
    )
  }
  const post = (
    path: string,
    accessToken: string,
    body: object,
    client: TestClient = system.shop
  ): Promise<Answer> => client.request('POST', `${system.resourceServerUrl}${path}`, { accessToken, body })
  const payToken = async (limits?: Record<string, unknown>): Promise<string> =>
    (await consentedToken(system, system.shop, [outgoingAccess(system, limits)])).token
  const quoteToken = (): Promise<string> =>
    requestToken(system, system.shop, [{ type: 'quote', actions: ['create', 'read'] }])
  const quoteFor = (accessToken: string, changes: object = {}): Promise<Answer> =>
    post('/quotes', accessToken, {
      walletAddress: system.walletAddresses.alice,
      receiver: receiver.url,
      method: 'ilp',
      ...changes
    })

  it('401 Invalid Token to a token that is unknown, malformed or missing, with the address of the auth server', async () => {
    const attempts: Record<string, string>[] = [
      {},
      { authorization: 'GNAP unknown' },
      { authorization: 'Bearer x' }
    ]
    for (const headers of attempts) {
      const answer = await system.shop.request('POST', `${system.resourceServerUrl}/quotes`, {
        headers,
        body: {}
      })
      expectError(answer, 401, 'Invalid Token')
      expect(answer.headers.get('www-authenticate')).toBe(`GNAP as_uri=${system.authServerUrl}`)
    }
  })

  it('403 Inactive Token to a token that expired or was revoked', async () => {
    const expired = await quoteToken()
    system.clock.advanceSeconds(601)
    expectError(await quoteFor(expired, { debitAmount: amount(1000) }), 403, 'Inactive Token')

    const issued = await system.shop.request('POST', system.authServerUrl, {
      body: {
        client: system.shop.walletAddress,
        access_token: { access: [{ type: 'quote', actions: ['create'] }] }
      }
    })
    const token = issued.textAt('access_token.value')
    expect((await quoteFor(token, { debitAmount: amount(1000) })).status).toBe(201)
    const revoked = await system.shop.request('DELETE', issued.textAt('access_token.manage'), {
      accessToken: token
    })
    expect(revoked.status).toBe(204)
    await eventually('the revoked token is refused', async () => {
      return (await quoteFor(token, { debitAmount: amount(1000) })).status !== 201
    })
    expectError(await quoteFor(token, { debitAmount: amount(1000) }), 403, 'Inactive Token')
  })

  it('403 Insufficient Grant when no access item covers type, action and wallet address', async () => {
    const other = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['read'], identifier: system.walletAddresses.bob }
    ])
    expectError(await quoteFor(other), 403, 'Insufficient Grant')
    expectError(
      await post('/incoming-payments', other, { walletAddress: system.walletAddresses.bob }),
      403,
      'Insufficient Grant'
    )
    const bobs = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['create'], identifier: system.walletAddresses.bob }
    ])
    expectError(
      await post('/incoming-payments', bobs, { walletAddress: system.walletAddresses.carol }),
      403,
      'Insufficient Grant'
    )
  })

  it("403 unauthorized over the grant's limits, to another receiver, and outside its interval", async () => {
    expectError(
      await pay(system, system.shop, await payToken({ debitAmount: amount(999) }), receiver.url, 1000n),
      403,
      'unauthorized'
    )
    expectError(
      await pay(system, system.shop, await payToken({ receiveAmount: amount(10) }), receiver.url, 1000n),
      403,
      'unauthorized'
    )
    const other = await createReceiver(system, system.shop)
    expectError(
      await pay(system, system.shop, await payToken({ receiver: other.url }), receiver.url, 1000n),
      403,
      'unauthorized'
    )
    expectError(
      await pay(
        system,
        system.shop,
        await payToken({ debitAmount: amount(5000), interval: 'R1/9998-01-01T00:00:00Z/P1M' }),
        receiver.url,
        1000n
      ),
      403,
      'unauthorized'
    )
  })

  it('401 beginning Signature validation error to a signature that is missing or not valid', async () => {
    const accessToken = await quoteToken()
    const url = `${system.resourceServerUrl}/quotes`
    expectError(
      await system.shop.request('POST', url, { accessToken, body: {}, unsigned: true }),
      401,
      /^Signature validation error/
    )
    expectError(
      await system.market.request('POST', url, { accessToken, body: {} }),
      401,
      /^Signature validation error/
    )
  })

  it('400 invalid receiver to a receiver that is not a payable incoming payment', async () => {
    const accessToken = await quoteToken()
    const outgoing = await payToken()
    const completed = await createReceiver(system, system.shop)
    await system.shop.request('POST', `${completed.url}/complete`, { accessToken: completed.token })
    for (const url of [completed.url, `${system.resourceServerUrl}/incoming-payments/${randomUUID()}`]) {
      expectError(
        await quoteFor(accessToken, { receiver: url, debitAmount: amount(1000) }),
        400,
        'invalid receiver'
      )
      expectError(await pay(system, system.shop, outgoing, url, 1000n), 400, 'invalid receiver')
    }
  })

  it('400 with the smallest amount that would do when an amount is too small to deliver anything', async () => {
    const quote = await quoteFor(await quoteToken(), { debitAmount: amount(3) })
    expectError(quote, 400, /non-positive receive amount/)
    const minimum = quote.at('error.details.minSendAmount') as { value: string }
    expect(minimum).toMatchObject({ assetCode: 'USD', assetScale: 2 })
    expectError(
      await pay(system, system.shop, await payToken(), receiver.url, BigInt(minimum.value) - 1n),
      400,
      /non-positive receive amount/
    )
    expect(
      (await pay(system, system.shop, await payToken(), receiver.url, BigInt(minimum.value))).status
    ).toBe(201)
  })

  it('400 invalid quote to a quote that expired or was used', async () => {
    const outgoing = await payToken()
    const payQuote = (quoteId: string): Promise<Answer> =>
      post('/outgoing-payments', outgoing, {
        walletAddress: system.walletAddresses.alice,
        quoteId,
        metadata: { request: randomUUID() }
      })
    const used = (await quoteFor(await quoteToken(), { debitAmount: amount(1000) })).textAt('id')
    expect((await payQuote(used)).status).toBe(201)
    expectError(await payQuote(used), 400, 'invalid quote')
    const expired = (await quoteFor(await quoteToken(), { debitAmount: amount(1000) })).textAt('id')
    system.clock.advanceSeconds(301)
    expectError(await payQuote(expired), 400, 'invalid quote')
  })

  it("400 naming both assets when an amount is not in the wallet address's asset", async () => {
    const { token } = await createReceiver(system, system.shop)
    const answer = await post('/incoming-payments', token, {
      walletAddress: system.walletAddresses.bob,
      incomingAmount: { value: '1', assetCode: 'EUR', assetScale: 4 }
    })
    expectError(answer, 400, /EUR.*4.*USD.*2/)
  })

  it('404 to an unknown resource, a malformed id, and what another client created', async () => {
    const mine = await createReceiver(system, system.shop)
    const marketToken = await requestToken(system, system.market, [
      { type: 'incoming-payment', actions: ['read', 'complete'], identifier: system.walletAddresses.bob }
    ])
    for (const id of [randomUUID(), 'nonsense']) {
      const url = `${system.resourceServerUrl}/incoming-payments/${id}`
      expectError(await system.shop.request('GET', url, { accessToken: mine.token }), 404, /./)
    }
    expectError(await system.market.request('GET', mine.url, { accessToken: marketToken }), 404, /./)
    expectError(
      await system.market.request('POST', `${mine.url}/complete`, { accessToken: marketToken }),
      404,
      /./
    )
    const readAll = await requestToken(system, system.market, [
      { type: 'incoming-payment', actions: ['read-all'] }
    ])
    expect((await system.market.request('GET', mine.url, { accessToken: readAll })).status).toBe(200)
  })

  it('409 on complete when the incoming payment is completed or expired', async () => {
    const completed = await createReceiver(system, system.shop)
    const complete = (): Promise<Answer> =>
      system.shop.request('POST', `${completed.url}/complete`, { accessToken: completed.token })
    expect((await complete()).status).toBe(200)
    expectError(await complete(), 409, /./)
    const token = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['create', 'complete'], identifier: system.walletAddresses.bob }
    ])
    const expiring = await post('/incoming-payments', token, {
      walletAddress: system.walletAddresses.bob,
      expiresAt: new Date(system.clock.now() + 10_000).toISOString()
    })
    system.clock.advanceSeconds(11)
    expectError(
      await system.shop.request('POST', `${expiring.textAt('id')}/complete`, { accessToken: token }),
      409,
      /./
    )
  })

  it('400 unknown wallet address to one that is not hosted here, in a body and in a query', async () => {
    const elsewhere = 'http://localhost:2/bob'
    expectError(
      await quoteFor(await quoteToken(), { walletAddress: elsewhere, debitAmount: amount(1000) }),
      400,
      'unknown wallet address'
    )
    const anyWallet = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['create', 'list'] }
    ])
    expectError(
      await post('/incoming-payments', anyWallet, { walletAddress: elsewhere }),
      400,
      'unknown wallet address'
    )
    const list = `${system.resourceServerUrl}/incoming-payments?wallet-address=${encodeURIComponent(elsewhere)}`
    expectError(
      await system.shop.request('GET', list, { accessToken: anyWallet }),
      400,
      'unknown wallet address'
    )
  })

  it("a creation without walletAddress for the access item's identifier, and 400 when there is none", async () => {
    const bobs = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['create'], identifier: system.walletAddresses.bob }
    ])
    const created = await post('/incoming-payments', bobs, {})
    expect(created.at('walletAddress')).toBe(system.walletAddresses.bob)
    const anyWallet = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['create'] }
    ])
    expectError(await post('/incoming-payments', anyWallet, {}), 400, /walletAddress/)
  })

  it('with updatedAt to whoever accepts more than application/json, and as published to the others', async () => {
    const token = await payToken()
    const paid = await pay(system, system.shop, token, receiver.url, 1000n)
    expect(paid.at('updatedAt')).toEqual(expect.any(String))
    await allSettled(system)
    const get = (accept: string): Promise<Answer> =>
      system.shop.request('GET', paid.textAt('id'), { accessToken: token, headers: { accept } })
    expect((await get('application/json')).at('updatedAt')).toBeUndefined()
    const full = await get('*/*')
    expect(full.at('updatedAt')).toEqual(expect.any(String))
    expect(full.headers.get('vary')).toMatch(/accept/i)
    expect(full.headers.get('etag')).not.toBeNull()
    expect(full.headers.get('last-modified')).not.toBeNull()
    const again = await system.shop.request('GET', paid.textAt('id'), {
      accessToken: token,
      headers: { accept: '*/*', 'if-none-match': full.headers.get('etag') ?? '' }
    })
    expect(again.status).toBe(304)
  })

  it('the same Idempotency-Key with the first response, and with 422 to another body', async () => {
    const fresh = await createReceiver(system, system.shop)
    const token = await payToken()
    const headers = { 'idempotency-key': randomUUID() }
    const send = (debit: number): Promise<Answer> =>
      system.shop.request('POST', `${system.resourceServerUrl}/outgoing-payments`, {
        accessToken: token,
        headers,
        body: {
          walletAddress: system.walletAddresses.alice,
          incomingPayment: fresh.url,
          debitAmount: amount(debit)
        }
      })
    const first = await send(1000)
    expect(first.status).toBe(201)
    system.clock.advanceSeconds(2)
    const second = await send(1000)
    expect(second.status).toBe(201)
    expect(second.body).toEqual(first.body)
    system.clock.advanceSeconds(2)
    expect((await send(1001)).status).toBe(422)
  })

  it('the same Idempotency-Key with the first response even when the receiver is expired by then', async () => {
    const incoming = await requestToken(system, system.shop, [
      { type: 'incoming-payment', actions: ['create'], identifier: system.walletAddresses.bob }
    ])
    const expiring = await post('/incoming-payments', incoming, {
      walletAddress: system.walletAddresses.bob,
      expiresAt: new Date(system.clock.now() + 30_000).toISOString()
    })
    const token = await payToken()
    const headers = { 'idempotency-key': randomUUID() }
    const send = (): Promise<Answer> =>
      system.shop.request('POST', `${system.resourceServerUrl}/outgoing-payments`, {
        accessToken: token,
        headers,
        body: {
          walletAddress: system.walletAddresses.alice,
          incomingPayment: expiring.textAt('id'),
          debitAmount: amount(1000)
        }
      })
    const first = await send()
    expect(first.status).toBe(201)
    await allSettled(system)
    system.clock.advanceSeconds(61)
    const second = await send()
    expect(second.status).toBe(201)
    expect(second.body).toEqual(first.body)
  })

  it('a wallet address with how long it may be kept, its keys, and 404 to what is not there', async () => {
    const answer = await send('GET', system.walletAddresses.alice)
    expect(answer.headers.get('cache-control')).toMatch(/max-age=\d+/)
    const jwks = await send('GET', `${system.shop.walletAddress}/jwks.json`)
    expect(jwks.body).toEqual({ keys: [system.shop.key.jwk] })
    expect((await send('GET', `${system.resourceServerUrl}/nobody`)).status).toBe(404)
    expect((await send('GET', `${system.resourceServerUrl}/nobody/jwks.json`)).status).toBe(404)
  })
})
