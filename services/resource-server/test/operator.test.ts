import { randomUUID } from 'node:crypto'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ALICE, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
})
afterAll(async () => {
  // The clock was moved ahead: an undelivered outcome would have been open for a month.
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

const USD = { code: 'USD', scale: 2 }
const page = { pageSize: 0, pageToken: '' }
const refusedFor = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => (error instanceof RpcError ? `${status[error.code]} ${String(error.field)}` : error)
  )

describe('assets', () => {
  it('are created once, with the accounts that the provider needs in them', async () => {
    const asset = { code: 'JPY', scale: 0 }
    expect(await world.operate('createAsset', { asset })).toEqual({ asset })
    expect(await refusedFor(world.operate('createAsset', { asset }))).toBe('ALREADY_EXISTS asset')
    const kinds = await world.database.query<{ kind: string }>(
      `select kind::text from account where asset_id = (select id from asset where code = 'JPY') order by 1`
    )
    expect(kinds.map(({ kind }) => kind)).toEqual(['clearing', 'exchange', 'fees', 'outside'])
    expect((await world.operate('listAssets', {})).assets).toEqual([{ code: 'EUR', scale: 2 }, asset, USD])
  })

  it.each([
    [{ asset: undefined }, 'asset'],
    [{ asset: { code: '', scale: 2 } }, 'asset.code'],
    [{ asset: { code: 'U SD', scale: 2 } }, 'asset.code'],
    [{ asset: { code: 'usd', scale: 2 } }, 'asset.code'],
    [{ asset: { code: 'USDc', scale: 6 } }, 'asset.code'],
    [{ asset: { code: 'X'.repeat(33), scale: 2 } }, 'asset.code'],
    [{ asset: { code: 'USD', scale: 256 } }, 'asset.scale']
  ])('%j are refused', async (request, field) => {
    expect(await refusedFor(world.operate('createAsset', request))).toBe(`INVALID_ARGUMENT ${field}`)
  })
})

describe('accounts', () => {
  it('are created with a name and an asset, hold nothing, and are listed by name in pages', async () => {
    const { account } = await world.operate('createAccount', { name: 'dave', asset: USD })
    expect(account).toMatchObject({
      name: 'dave',
      asset: USD,
      balanceValue: '0',
      heldValue: '0',
      availableValue: '0'
    })
    expect(await refusedFor(world.operate('createAccount', { name: 'dave', asset: USD }))).toBe(
      'ALREADY_EXISTS name'
    )
    const names: string[] = []
    for (let pageToken = '', pages = 0; pages < 10; pages += 1) {
      const part = await world.operate('listAccounts', { name: '', pageSize: 3, pageToken })
      names.push(...part.accounts.map(({ name }) => name))
      pageToken = part.nextPageToken
      if (pageToken === '') break
    }
    expect(names).toEqual(['alice', 'bob', 'carol', 'dave'])
  })

  it.each(['', 'Dave', 'da ve', 'x'.repeat(65), 'da\u0000ve'])('cannot be called %j', async (name) => {
    expect(await refusedFor(world.operate('createAccount', { name, asset: USD }))).toBe(
      'INVALID_ARGUMENT name'
    )
  })

  it('of a name that none has are not found', async () => {
    for (const name of ['nobody', 'da\u0000ve']) {
      expect((await world.operate('listAccounts', { name, ...page })).accounts).toEqual([])
    }
  })

  it('need an asset that exists', async () => {
    const asset = { code: 'XXX', scale: 2 }
    expect(await refusedFor(world.operate('createAccount', { name: 'erin', asset }))).toBe('NOT_FOUND asset')
  })

  it.each([
    [{ pageSize: 1001 }, 'page_size'],
    [{ pageToken: '!' }, 'page_token'],
    [{ pageToken: Buffer.from('a\u0000').toString('base64url') }, 'page_token']
  ])('cannot be listed with %j', async (wrong, field) => {
    const request = { name: '', ...page, ...wrong }
    expect(await refusedFor(world.operate('listAccounts', request))).toBe(`INVALID_ARGUMENT ${field}`)
  })
})

describe('wallet addresses', () => {
  it('are created on an account, served at once, and listed', async () => {
    const { walletAddress } = await world.operate('createWalletAddress', {
      path: '/alice/savings',
      publicName: 'Alice, savings',
      accountName: 'alice'
    })
    const url = `${PUBLIC_URL}/alice/savings`
    expect(walletAddress).toEqual({
      url,
      publicName: 'Alice, savings',
      accountName: 'alice',
      asset: USD,
      keyIds: []
    })
    expect((await world.send('GET', '/alice/savings')).body).toMatchObject({
      id: url,
      publicName: 'Alice, savings'
    })
    const { walletAddresses } = await world.operate(
      'listWalletAddresses',
      wallet.ListWalletAddressesRequest.fromPartial(page)
    )
    expect(walletAddresses.map((each) => each.url)).toContain(url)
  })

  it('may have no path: it is the public URL itself', async () => {
    const request = { path: '/', publicName: '', accountName: 'bob' }
    const { walletAddress } = await world.operate('createWalletAddress', request)
    expect(walletAddress?.url).toBe(PUBLIC_URL)
    expect((await world.send('GET', '/.well-known/pay')).body).toMatchObject({ id: PUBLIC_URL })
    expect(await refusedFor(world.operate('createWalletAddress', request))).toBe('ALREADY_EXISTS path')
  })

  it.each([
    ...[
      '',
      'alice2',
      '/Alice',
      '/al ice',
      '/alice/',
      '//alice',
      '/a/../b',
      '/.',
      '/é',
      '/%41',
      '/a?b',
      '/a#b'
    ],
    ...[
      '/incoming-payments',
      '/outgoing-payments/x',
      '/quotes',
      '/outgoing-payment-grant',
      '/.well-known/pay'
    ],
    ...['/.well-known/x', '/alice/jwks.json', '/alice/did.json', `/${'x'.repeat(600)}`, '/a/b/c/d/e/f/g/h/i']
  ])('cannot have the path %j', async (path) => {
    const request = { path, publicName: '', accountName: 'alice' }
    expect(await refusedFor(world.operate('createWalletAddress', request))).toBe('INVALID_ARGUMENT path')
  })

  it('need an account that exists, and a public name without control characters', async () => {
    const request = { path: '/erin', publicName: '', accountName: 'erin' }
    expect(await refusedFor(world.operate('createWalletAddress', request))).toBe('NOT_FOUND account_name')
    const named = { ...request, accountName: 'alice', publicName: 'a\u0000' }
    expect(await refusedFor(world.operate('createWalletAddress', named))).toBe('INVALID_ARGUMENT public_name')
    const long = { ...named, publicName: 'x'.repeat(129) }
    expect(await refusedFor(world.operate('createWalletAddress', long))).toBe('INVALID_ARGUMENT public_name')
  })
})

describe('money', () => {
  it('is brought in and taken out once for each id', async () => {
    const before = await world.available('carol')
    const deposit = { depositId: randomUUID(), accountName: 'carol', value: '500' }
    await Promise.all([1, 2, 3].map(() => world.operate('deposit', deposit)))
    const { account } = await world.operate('deposit', deposit)
    expect(account?.availableValue).toBe(String(before + 500n))
    const withdrawal = { withdrawalId: randomUUID(), accountName: 'carol', value: '200' }
    await Promise.all([1, 2, 3].map(() => world.operate('withdraw', withdrawal)))
    expect(await world.available('carol')).toBe(before + 300n)
  })

  it('under an id that names another transfer is refused', async () => {
    const depositId = randomUUID()
    await world.operate('deposit', { depositId, accountName: 'carol', value: '5' })
    for (const other of [
      { depositId, accountName: 'carol', value: '6' },
      { depositId, accountName: 'bob', value: '5' }
    ]) {
      expect(await refusedFor(world.operate('deposit', other))).toBe('ALREADY_EXISTS deposit_id')
    }
    const withdrawal = { withdrawalId: depositId, accountName: 'carol', value: '5' }
    expect(await refusedFor(world.operate('withdraw', withdrawal))).toBe('ALREADY_EXISTS withdrawal_id')
  })

  it('cannot be taken out that is not there, however many try', async () => {
    await world.operate('createAccount', { name: 'frank', asset: USD })
    await world.operate('deposit', { depositId: randomUUID(), accountName: 'frank', value: '100' })
    const results = await Promise.all(
      Array.from({ length: 10 }, () =>
        refusedFor(
          world.operate('withdraw', { withdrawalId: randomUUID(), accountName: 'frank', value: '30' })
        )
      )
    )
    expect(results.filter((result) => result === 'FAILED_PRECONDITION value')).toHaveLength(7)
    await expect(
      world.operate('withdraw', { withdrawalId: randomUUID(), accountName: 'frank', value: '30' })
    ).rejects.toMatchObject({ message: 'the account frank has less than that available' })
    expect(await world.available('frank')).toBe(10n)
  })

  it.each([
    [{ depositId: 'x' }, 'INVALID_ARGUMENT deposit_id'],
    [{ depositId: '0190A5F0-0000-7000-8000-0000000000AA' }, 'INVALID_ARGUMENT deposit_id'],
    [{ value: '0' }, 'INVALID_ARGUMENT value'],
    [{ value: '-1' }, 'INVALID_ARGUMENT value'],
    [{ value: '1.5' }, 'INVALID_ARGUMENT value'],
    [{ value: '18446744073709551616' }, 'INVALID_ARGUMENT value'],
    [{ accountName: 'nobody' }, 'NOT_FOUND account_name'],
    [{ accountName: '' }, 'INVALID_ARGUMENT account_name']
  ])('is not moved for %j', async (wrong, refusal) => {
    const request = { depositId: randomUUID(), accountName: 'alice', value: '1', ...wrong }
    const before = await world.available('alice')
    expect(await refusedFor(world.operate('deposit', request))).toBe(refusal)
    expect(await world.available('alice')).toBe(before)
  })
})

describe('client keys', () => {
  const { x } = createTestKey().jwk

  it('are published in the JWKS of the wallet address until they are revoked', async () => {
    const key = { walletAddress: ALICE, kid: 'key-1' }
    expect((await world.send('GET', '/alice/jwks.json')).body).toEqual({ keys: [] })
    await world.operate('addClientKey', { ...key, x })
    // Both times it is requested at once, while the previous answer is still cached.
    expect((await world.send('GET', '/alice/jwks.json')).body).toMatchObject({ keys: [{ kid: 'key-1', x }] })
    expect(await refusedFor(world.operate('addClientKey', { ...key, x }))).toBe('ALREADY_EXISTS kid')
    for (let times = 0; times < 2; times += 1) await world.operate('revokeClientKey', key)
    expect((await world.send('GET', '/alice/jwks.json')).body).toEqual({ keys: [] })
    expect(await refusedFor(world.operate('addClientKey', { ...key, x }))).toBe('ALREADY_EXISTS kid')
  })

  it.each([
    [{ kid: '' }, 'INVALID_ARGUMENT kid'],
    [{ kid: 'a b' }, 'INVALID_ARGUMENT kid'],
    [{ x: 'short' }, 'INVALID_ARGUMENT x'],
    [{ x: Buffer.alloc(32).toString('base64url') }, 'INVALID_ARGUMENT x'],
    [{ walletAddress: `${PUBLIC_URL}/nobody` }, 'NOT_FOUND wallet_address'],
    [{ walletAddress: 'https://x.example/alice' }, 'NOT_FOUND wallet_address']
  ])('are refused with %j', async (wrong, refusal) => {
    const request = { walletAddress: ALICE, kid: 'key-2', x, ...wrong }
    expect(await refusedFor(world.operate('addClientKey', request))).toBe(refusal)
  })

  it('that never were cannot be revoked', async () => {
    const key = { walletAddress: ALICE, kid: 'key-3' }
    expect(await refusedFor(world.operate('revokeClientKey', key))).toBe('NOT_FOUND kid')
  })
})

describe('payments', () => {
  it('are listed newest first, of all wallet addresses or of one, in pages', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(100) })
    const urls: string[] = []
    for (let value = 1; value <= 3; value += 1) {
      const created = await world.pay(receiver, value)
      await world.whenEnded(created.textAt('id'))
      urls.unshift(created.textAt('id'))
      world.clock.advanceSeconds(1)
    }
    const kind = wallet.PaymentKind.PAYMENT_KIND_OUTGOING
    for (const walletAddress of ['', ALICE]) {
      const first = await world.operate(
        'listPayments',
        wallet.ListPaymentsRequest.fromPartial({ kind, walletAddress, pageSize: 2, pageToken: '' })
      )
      const { nextPageToken } = first
      const second = await world.operate(
        'listPayments',
        wallet.ListPaymentsRequest.fromPartial({
          kind,
          walletAddress,
          pageSize: 2,
          pageToken: nextPageToken
        })
      )
      const found = [...first.payments, ...second.payments]
      expect(found.map(({ paymentId }) => paymentId)).toEqual(urls.map((url) => url.slice(-36)))
      expect(second.nextPageToken).toBe('')
      expect(found[0]).toMatchObject({
        kind,
        walletAddress: ALICE,
        state: 'completed',
        value: '3',
        movedValue: '3',
        asset: USD,
        receiver
      })
    }
    const incoming = wallet.PaymentKind.PAYMENT_KIND_INCOMING
    const { payments } = await world.operate(
      'listPayments',
      wallet.ListPaymentsRequest.fromPartial({ kind: incoming, walletAddress: '', ...page })
    )
    expect(payments[0]).toMatchObject({
      kind: incoming,
      state: 'pending',
      value: '100',
      movedValue: '6',
      receiver: ''
    })
    world.clock.advanceSeconds(31 * 86_400)
    const later = await world.operate(
      'listPayments',
      wallet.ListPaymentsRequest.fromPartial({ kind: incoming, walletAddress: '', ...page })
    )
    expect(later.payments[0]).toMatchObject({ state: 'expired' })
  })

  it.each([
    [{ kind: wallet.PaymentKind.PAYMENT_KIND_UNSPECIFIED }, 'INVALID_ARGUMENT kind'],
    [{ pageToken: 'x' }, 'INVALID_ARGUMENT page_token'],
    [{ pageSize: 1001 }, 'INVALID_ARGUMENT page_size'],
    [{ walletAddress: `${PUBLIC_URL}/nobody` }, 'NOT_FOUND wallet_address']
  ])('cannot be listed with %j', async (wrong, refusal) => {
    const request = { kind: wallet.PaymentKind.PAYMENT_KIND_OUTGOING, walletAddress: '', ...page, ...wrong }
    expect(
      await refusedFor(world.operate('listPayments', wallet.ListPaymentsRequest.fromPartial(request)))
    ).toBe(refusal)
  })
})
