import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RunningTestClock } from '@open-payments-server/testing'
import {
  type AuthenticatedClient,
  createAuthenticatedClient,
  createUnauthenticatedClient,
  isFinalizedGrantWithAccessToken,
  isPendingGrant,
  OpenPaymentsClientError
} from '@interledger/open-payments'
import { consentedToken, FINISH_URI, interact, outgoingAccess } from '../src/consent.js'
import { allSettled, createReceiver, eventually } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

describe('the official client library, with its response validation on', () => {
  let system: System
  let client: AuthenticatedClient
  const wallets = {} as Record<
    'alice' | 'bob',
    Awaited<ReturnType<AuthenticatedClient['walletAddress']['get']>>
  >

  beforeAll(async () => {
    // The library signs with the system's clock, which cannot be replaced.
    system = await startSystem({
      clock: new RunningTestClock(),
      auth: { CONTINUATION_WAIT_SECONDS: '0' }
    })
    client = await createAuthenticatedClient({
      walletAddressUrl: system.shop.walletAddress,
      privateKey: system.shop.key.privateKey,
      keyId: system.shop.key.keyId,
      useHttp: true,
      validateResponses: true,
      logLevel: 'silent'
    })
    for (const name of ['alice', 'bob'] as const) {
      wallets[name] = await client.walletAddress.get({ url: system.walletAddresses[name] })
    }
  })
  afterAll(() => system.stop())

  const token = async (access: Parameters<AuthenticatedClient['grant']['request']>[1]['access_token']) => {
    const grant = await client.grant.request({ url: wallets.bob.authServer }, { access_token: access })
    if (!isFinalizedGrantWithAccessToken(grant))
      throw new Error('the grant was expected to be issued at once')
    return grant
  }

  /** A revocation reaches the resource server over a stream, possibly after the answer to the client. */
  const refused = (attempt: () => Promise<unknown>): Promise<void> =>
    eventually('the token is refused', () =>
      attempt().then(
        () => false,
        () => true
      )
    )

  it('reads wallet addresses and their keys', async () => {
    expect(wallets.alice).toEqual({
      id: system.walletAddresses.alice,
      publicName: 'alice',
      assetCode: 'USD',
      assetScale: 2,
      authServer: system.authServerUrl,
      resourceServer: system.resourceServerUrl
    })
    const { keys } = await client.walletAddress.getKeys({ url: system.shop.walletAddress })
    expect(keys).toEqual([system.shop.key.jwk])
  })

  it('pays: grant, incoming payment, quote, consent, continuation, outgoing payment, money received', async () => {
    const receiving = await token({
      access: [
        {
          type: 'incoming-payment',
          actions: ['create', 'read', 'list', 'complete'],
          identifier: wallets.bob.id
        }
      ]
    })
    const incoming = await client.incomingPayment.create(
      { url: wallets.bob.resourceServer, accessToken: receiving.access_token.value },
      {
        walletAddress: wallets.bob.id,
        incomingAmount: { value: '1250', assetCode: 'USD', assetScale: 2 },
        metadata: { order: '17' }
      }
    )
    expect(incoming).toMatchObject({
      completed: false,
      receivedAmount: { value: '0' },
      metadata: { order: '17' }
    })
    const [method] = incoming.methods
    expect(Buffer.from(method?.sharedSecret ?? '', 'base64url')).toHaveLength(32)

    const quoting = await token({ access: [{ type: 'quote', actions: ['create', 'read'] }] })
    const quote = await client.quote.create(
      { url: wallets.alice.resourceServer, accessToken: quoting.access_token.value },
      { walletAddress: wallets.alice.id, receiver: incoming.id, method: 'ilp' }
    )
    expect(quote).toMatchObject({ debitAmount: { value: '1250' }, receiveAmount: { value: '1250' } })
    expect(await client.quote.get({ url: quote.id, accessToken: quoting.access_token.value })).toEqual(quote)

    const pending = await client.grant.request(
      { url: wallets.alice.authServer },
      {
        access_token: {
          access: [
            {
              type: 'outgoing-payment',
              actions: ['create', 'read', 'list'],
              identifier: wallets.alice.id,
              limits: { debitAmount: quote.debitAmount, receiver: incoming.id }
            }
          ]
        },
        interact: {
          start: ['redirect'],
          finish: { method: 'redirect', uri: FINISH_URI, nonce: 'client-nonce' }
        }
      }
    )
    if (!isPendingGrant(pending)) throw new Error('the grant was expected to need the account holder')
    const finished = await interact(system, { redirect: pending.interact.redirect }, 'accept')
    const reference = finished.searchParams.get('interact_ref') ?? ''
    expect(finished.searchParams.get('order')).toBe('17')
    expect(finished.searchParams.get('hash')).toBe(
      createHash('sha256')
        .update(`client-nonce\n${pending.interact.finish}\n${reference}\n${wallets.alice.authServer}`)
        .digest('base64')
    )

    const paying = await client.grant.continue(
      { url: pending.continue.uri, accessToken: pending.continue.access_token.value },
      { interact_ref: reference }
    )
    if (!isFinalizedGrantWithAccessToken(paying)) throw new Error('the grant was expected to be issued')
    const payToken = paying.access_token.value
    expect(
      await client.outgoingPayment.getGrantSpentAmounts({
        url: wallets.alice.resourceServer,
        accessToken: payToken
      })
    ).toEqual({ spentDebitAmount: null, spentReceiveAmount: null })
    const outgoing = await client.outgoingPayment.create(
      { url: wallets.alice.resourceServer, accessToken: payToken },
      { walletAddress: wallets.alice.id, quoteId: quote.id, metadata: { order: '17' } }
    )
    expect(outgoing).toMatchObject({
      failed: false,
      quoteId: quote.id,
      receiver: incoming.id,
      debitAmount: { value: '1250' },
      grantSpentDebitAmount: { value: '1250', assetCode: 'USD', assetScale: 2 },
      grantSpentReceiveAmount: { value: '1250' }
    })

    await allSettled(system)
    expect(await client.outgoingPayment.get({ url: outgoing.id, accessToken: payToken })).toMatchObject({
      failed: false,
      sentAmount: { value: '1250', assetCode: 'USD', assetScale: 2 }
    })
    const outgoingList = await client.outgoingPayment.list(
      { url: wallets.alice.resourceServer, accessToken: payToken, walletAddress: wallets.alice.id },
      { first: 10, 'wallet-address': wallets.alice.id }
    )
    expect(outgoingList.result.map(({ id }) => id)).toEqual([outgoing.id])
    expect(
      await client.outgoingPayment.getGrantSpentAmounts({
        url: wallets.alice.resourceServer,
        accessToken: payToken
      })
    ).toMatchObject({ spentDebitAmount: { value: '1250' }, spentReceiveAmount: { value: '1250' } })

    const received = await client.incomingPayment.get({
      url: incoming.id,
      accessToken: receiving.access_token.value
    })
    expect(received).toMatchObject({ completed: true, receivedAmount: { value: '1250' } })
    expect(await client.incomingPayment.getPublic({ url: incoming.id })).toEqual({
      receivedAmount: { value: '1250', assetCode: 'USD', assetScale: 2 },
      authServer: system.authServerUrl
    })
    const incomingList = await client.incomingPayment.list(
      {
        url: wallets.bob.resourceServer,
        accessToken: receiving.access_token.value,
        walletAddress: wallets.bob.id
      },
      { first: 10, 'wallet-address': wallets.bob.id }
    )
    expect(incomingList.result.map(({ id }) => id)).toEqual([incoming.id])
    expect(await system.balance('bob')).toBe(1250n)
    expect(await system.audit()).toEqual([])
  })

  it('learns from a refusal what one payment may still have, and when the next interval begins', async () => {
    const { url: incomingPayment } = await createReceiver(system, system.shop)
    const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
    const interval = 'R/2020-01-01T00:00:00Z/P1000Y'
    const access = outgoingAccess(system, { debitAmount: usd('700'), interval })
    const { token: accessToken } = await consentedToken(system, system.shop, [access])
    const pay = (value: string) =>
      client.outgoingPayment.create(
        { url: wallets.alice.resourceServer, accessToken },
        { walletAddress: wallets.alice.id, incomingPayment, debitAmount: usd(value) }
      )
    await pay('300')
    await expect(pay('401')).rejects.toMatchObject({
      status: 403,
      code: '403',
      description: 'unauthorized',
      details: {
        refusedBy: { accessIndex: 0, limits: ['debitAmount'] },
        remainingDebitAmount: usd('400'),
        nextIntervalAt: '3020-01-01T00:00:00.000Z'
      }
    })
    await allSettled(system)
  })

  it('completes an incoming payment', async () => {
    const { access_token } = await token({
      access: [{ type: 'incoming-payment', actions: ['create', 'complete'], identifier: wallets.bob.id }]
    })
    const incoming = await client.incomingPayment.create(
      { url: wallets.bob.resourceServer, accessToken: access_token.value },
      { walletAddress: wallets.bob.id }
    )
    const completed = await client.incomingPayment.complete({
      url: incoming.id,
      accessToken: access_token.value
    })
    expect(completed.completed).toBe(true)
  })

  it('rotates a token and revokes it; each time the previous one is refused', async () => {
    const { access_token } = await token({
      access: [{ type: 'incoming-payment', actions: ['create', 'read'], identifier: wallets.bob.id }]
    })
    const create = (accessToken: string) =>
      client.incomingPayment.create(
        { url: wallets.bob.resourceServer, accessToken },
        { walletAddress: wallets.bob.id }
      )
    await create(access_token.value)
    const rotated = await client.token.rotate({ url: access_token.manage, accessToken: access_token.value })
    expect(rotated.access_token.value).not.toBe(access_token.value)
    expect(rotated.access_token.manage).not.toBe(access_token.manage)
    await refused(() => create(access_token.value))
    await expect(create(access_token.value)).rejects.toMatchObject({
      status: 403,
      description: 'Inactive Token'
    })
    await create(rotated.access_token.value)
    await client.token.revoke({ url: rotated.access_token.manage, accessToken: rotated.access_token.value })
    await refused(() => create(rotated.access_token.value))
    await expect(create(rotated.access_token.value)).rejects.toMatchObject({
      status: 403,
      description: 'Inactive Token'
    })
  })

  it('cancels a grant, whose token dies with it', async () => {
    const grant = await token({
      access: [{ type: 'incoming-payment', actions: ['create', 'read'], identifier: wallets.bob.id }]
    })
    await client.grant.cancel({ url: grant.continue.uri, accessToken: grant.continue.access_token.value })
    const create = (): Promise<unknown> =>
      client.incomingPayment.create(
        { url: wallets.bob.resourceServer, accessToken: grant.access_token.value },
        { walletAddress: wallets.bob.id }
      )
    await refused(create)
    await expect(create()).rejects.toBeInstanceOf(OpenPaymentsClientError)
  })

  it('needs no key for public resources', async () => {
    const anyone = await createUnauthenticatedClient({
      useHttp: true,
      validateResponses: true,
      logLevel: 'silent'
    })
    expect((await anyone.walletAddress.get({ url: system.walletAddresses.carol })).assetCode).toBe('EUR')
  })
})
