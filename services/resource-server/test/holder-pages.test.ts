import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  callUnary,
  createClient,
  type RequestOf,
  type ResponseOf,
  RpcError,
  status,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { assertAsDescribed } from './support/described-events.js'
import {
  ALICE,
  BOB,
  CAROL,
  eur,
  PUBLIC_URL,
  type PaymentWorld,
  startPaymentWorld,
  usd
} from './support/payment-world.js'

const ISSUER = 'https://login.wallet.test'
const ALICES = { issuer: ISSUER, sub: 'alice-7f3a', holderClaimValues: [] as string[] }
const USD = { code: 'USD', scale: 2 }
const EUR = { code: 'EUR', scale: 2 }
const FIRST_PAGE = { pageSize: 0, pageToken: '' }
const ALL = { walletAddress: '', fromTime: undefined, untilTime: undefined, ...FIRST_PAGE }

type Holders = wallet.HolderServiceClient
let world: PaymentWorld
let client: Holders

beforeAll(async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const keys = [{ ...privateKey.export({ format: 'jwk' }), kid: 'first' }]
  world = await startPaymentWorld({
    settings: {
      EXCHANGE_RATES: 'EUR/USD=1',
      HOLDER_CLAIM: 'accounts',
      HOLDER_CLAIM_ISSUER: ISSUER,
      OWNERSHIP_KEYS: JSON.stringify({ keys })
    }
  })
  client = createClient(wallet.HolderServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 3,
    messageBytesMax: 4_194_304
  })
  const walletAddress = { path: '/alice/shop', publicName: '', accountName: 'alice' }
  await world.operate('createWalletAddress', walletAddress)
  await setHolder('alice', { issuer: ISSUER, sub: ALICES.sub })
  await setHolder('carol', { issuer: ISSUER, sub: 'carol' })
})
afterAll(async () => {
  client.close()
  await world.stop()
})

const setHolder = (accountName: string, holder?: wallet.Holder) =>
  world.operate('setAccountHolder', { accountName, holder })
const ask = <Name extends UnaryMethodName<Holders>>(
  method: Name,
  request: RequestOf<Holders, Name>
): Promise<ResponseOf<Holders, Name>> => callUnary(client, method, request, { idempotent: true })
const refusedFor = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) => (error instanceof RpcError ? `${status[error.code]} ${String(error.field)}` : error)
  )

describe('the accounts of a person', () => {
  const namesOf = async (person: typeof ALICES): Promise<string[]> =>
    (await ask('listHolderAccounts', { ...person, ...FIRST_PAGE })).accounts.map(({ name }) => name)

  it('are told with what is on them, and their wallet addresses', async () => {
    await world.operate('freezeWalletAddress', { walletAddress: `${ALICE}/shop`, reason: '' })
    const { accounts, nextPageToken } = await ask('listHolderAccounts', { ...ALICES, ...FIRST_PAGE })
    await world.operate('unfreezeWalletAddress', { walletAddress: `${ALICE}/shop`, reason: '' })
    expect(nextPageToken).toBe('')
    const value = String(await world.available('alice'))
    expect(accounts).toEqual([
      {
        name: 'alice',
        asset: USD,
        balanceValue: value,
        availableValue: value,
        frozen: false,
        walletAddresses: [
          { url: ALICE, publicName: expect.any(String), frozen: false },
          { url: `${ALICE}/shop`, publicName: '', frozen: true }
        ]
      }
    ])
  })

  it('are those of whom the resource server states it, and no others', async () => {
    const people = [ISSUER, 'https://evil.test'].flatMap((issuer) =>
      ['alice-7f3a', 'carol', 'whoever'].flatMap((sub) =>
        [[], ['bob'], ['alice', 'bob', 'carol', 'nobody', 'b\u0000b', 'Bob']].map((holderClaimValues) => ({
          issuer,
          sub,
          holderClaimValues
        }))
      )
    )
    const found: string[][] = []
    for (const person of people) {
      const stated: string[] = []
      for (const [name, walletAddress] of Object.entries({ alice: ALICE, bob: BOB, carol: CAROL })) {
        const statement = await ask('stateOwnership', { walletAddress, ...person }).catch(() => undefined)
        if (statement !== undefined) stated.push(name)
      }
      const names = await namesOf(person)
      expect([person, names]).toEqual([person, stated])
      found.push(names)
    }
    expect(new Set(found.flat())).toEqual(new Set(['alice', 'bob', 'carol']))
    expect(found).toContainEqual(['alice', 'bob'])
    expect(found).toContainEqual([])
  })

  it('come in pages', async () => {
    await setHolder('carol', { issuer: ISSUER, sub: ALICES.sub })
    const person = { ...ALICES, holderClaimValues: ['bob'] }
    const names: string[] = []
    let pageToken = ''
    do {
      const page = await ask('listHolderAccounts', { ...person, pageSize: 1, pageToken })
      names.push(...page.accounts.map(({ name }) => name))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    await setHolder('carol', { issuer: ISSUER, sub: 'carol' })
    expect(names).toEqual(['alice', 'bob', 'carol'])
  })

  it.each<[object, string]>([
    [{ issuer: '' }, 'issuer'],
    [{ sub: 'ä' }, 'sub'],
    [{ holderClaimValues: Array.from({ length: 1_001 }, () => 'bob') }, 'holder_claim_values'],
    [{ pageSize: 201 }, 'page_size'],
    [{ pageToken: '?' }, 'page_token']
  ])('are not told for %j', async (wrong, field) => {
    const asked = ask('listHolderAccounts', { ...ALICES, ...FIRST_PAGE, ...wrong })
    expect(await refusedFor(asked)).toBe(`INVALID_ARGUMENT ${field}`)
  })
})

describe('receivers', () => {
  const describe_ = async (...urls: string[]): Promise<wallet.Receiver[]> =>
    (await ask('describeReceivers', { urls, askProviders: false })).receivers
  const { RECEIVER_KIND_ELSEWHERE: ELSEWHERE, RECEIVER_KIND_UNKNOWN: UNKNOWN } = wallet.ReceiverKind

  it('are described in the order that they were asked for', async () => {
    const markup = `<b>Order</b> \u202e2041 ${'é'.repeat(600)}`
    const asked = { incomingAmount: usd(500), metadata: { description: markup, other: 1 } }
    const receiver = await world.createReceiver(asked)
    await world.whenEnded((await world.pay(receiver, 200)).textAt('id'))
    const plain = await world.createReceiver({ metadata: { description: { no: 'text' } } })
    const domain = new URL(PUBLIC_URL).host
    const [payment, open, bob, again] = await describe_(receiver, plain, BOB, receiver)
    expect(payment).toEqual({
      url: receiver,
      kind: wallet.ReceiverKind.RECEIVER_KIND_INCOMING_PAYMENT,
      domain,
      walletAddress: BOB,
      publicName: bob?.publicName,
      description: markup.slice(0, 500),
      incomingValue: '500',
      receivedValue: '200',
      asset: USD,
      completed: false,
      expireTime: expect.any(Date)
    })
    expect(again).toEqual(payment)
    expect(open).toMatchObject({ url: plain, description: '', incomingValue: '', receivedValue: '0' })
    expect(bob).toMatchObject({
      url: BOB,
      kind: wallet.ReceiverKind.RECEIVER_KIND_WALLET_ADDRESS,
      domain,
      walletAddress: BOB,
      asset: USD,
      expireTime: undefined
    })
  })

  it('elsewhere are told by their domain, as it is, and nobody is asked', async () => {
    const unknown = [`${PUBLIC_URL}/nobody`, `${PUBLIC_URL}/incoming-payments/${ALICES.sub}`]
    const elsewhere = [
      'https://раypal.example/bob',
      'http://other.test:8080/bob',
      `${PUBLIC_URL}.evil.test/bob`
    ]
    const told = await describe_(...unknown, ...elsewhere)
    expect(told.map(({ kind }) => kind)).toEqual([UNKNOWN, UNKNOWN, ELSEWHERE, ELSEWHERE, ELSEWHERE])
    expect(told.slice(2).map(({ domain }) => domain)).toEqual([
      new URL('https://раypal.example').host,
      'other.test:8080',
      new URL(`${PUBLIC_URL}.evil.test`).host
    ])
    expect(told[2]?.domain).toMatch(/^xn--/)
    for (const one of told) expect(one).toMatchObject({ walletAddress: '', publicName: '', asset: undefined })
  })

  it('are told with whatever the auth server takes in the URL of a receiver', async () => {
    const elsewhere = ['@bob/incoming-payments/1', 'incoming-payments/1?t=2', 'incoming-payments/1#2', 'a\\b']
    const urls = [...elsewhere.map((path) => `https://pay.test/${path}`), `${BOB}?a`, `${BOB}#a`]
    const told = await describe_(...urls)
    expect(told.map(({ url }) => url)).toEqual(urls)
    expect(told.map(({ kind }) => kind)).toEqual([...elsewhere.map(() => ELSEWHERE), UNKNOWN, UNKNOWN])
    expect(told[0]?.domain).toBe('pay.test')
  })

  it.each([
    ['no URL', [BOB, 'bob'], 'urls[1]'],
    ['another scheme', ['javascript:alert(1)'], 'urls[0]'],
    ['a user', ['https://wallet.test@evil.test/'], 'urls[0]'],
    ['white space', ['https://other.test/a b'], 'urls[0]'],
    ['a long one', [`https://other.test/${'a'.repeat(2_048)}`], 'urls[0]'],
    ['none', [], 'urls'],
    ['too many', Array.from({ length: 101 }, () => BOB), 'urls']
  ])('are not described for %s', async (_what, urls, field) => {
    expect(await refusedFor(ask('describeReceivers', { urls, askProviders: false }))).toBe(
      `INVALID_ARGUMENT ${field}`
    )
  })
})

describe('the payments of a person', () => {
  const urls: string[] = []
  let times: Date[]
  let ofCarol: string
  let grantId: string

  beforeAll(async () => {
    const receiver = await world.createReceiver({ metadata: { description: 'Order 2041' } })
    world.clock.advanceSeconds(1)
    for (let count = 0; count < 5; count += 1) {
      const from = count % 2 === 0 ? {} : { walletAddress: `${ALICE}/shop` }
      const payment = await world.pay(receiver, 10 + count, from)
      urls.unshift(payment.textAt('id'))
      await world.whenEnded(payment.textAt('id'))
      world.clock.advanceSeconds(1)
    }
    const payment = await world.pay(receiver, 20, { walletAddress: CAROL, debitAmount: eur(20) })
    ofCarol = payment.textAt('id')
    await world.whenEnded(ofCarol)
    const rows = await world.database.query<{ grant_id: string; created_at: Date }>(
      'select grant_id, created_at from outgoing_payment where id = any ($1) order by created_at desc',
      [urls.map((url) => url.slice(-36))]
    )
    times = rows.map(({ created_at: createdAt }) => createdAt)
    grantId = String(rows[0]?.grant_id)
  })

  const list = async (more: object = {}, person = ALICES): Promise<wallet.HolderPayment[]> =>
    (await ask('listHolderPayments', { ...person, ...ALL, ...more })).payments
  const listed = async (more: object = {}, person = ALICES): Promise<string[]> =>
    (await list(more, person)).map(({ payment }) => payment).filter((url) => [...urls, ofCarol].includes(url))

  it('are told with whom they paid, and what came of it', async () => {
    const [newest] = await list()
    expect(newest).toEqual({
      payment: urls[0],
      grantId,
      client: world.shop.client,
      walletAddress: ALICE,
      state: 'completed',
      failureReason: '',
      failureMeaning: '',
      debitValue: '14',
      sentValue: '14',
      debitAsset: USD,
      receiveValue: expect.any(String),
      receivedValue: expect.any(String),
      refundedValue: '0',
      receiveAsset: USD,
      receiver: expect.objectContaining({ walletAddress: BOB, description: 'Order 2041' }),
      refundOf: '',
      createTime: times[0],
      updateTime: expect.any(Date)
    })
    expect(newest?.receivedValue).toBe(newest?.receiveValue)
    const [carols] = await list({}, { ...ALICES, sub: 'carol' })
    expect(carols).toMatchObject({
      payment: ofCarol,
      walletAddress: CAROL,
      debitAsset: EUR,
      debitValue: '20'
    })
  })

  it('are those from their own wallet addresses: all, or one', async () => {
    expect(await listed()).toEqual(urls)
    expect(await listed({ walletAddress: `${ALICE}/shop` })).toEqual([urls[1], urls[3]])
    expect(await list({}, { ...ALICES, sub: 'whoever' })).toEqual([])
    expect(await list({}, { ...ALICES, issuer: 'https://evil.test' })).toEqual([])
    const both = { ...ALICES, sub: 'whoever', holderClaimValues: ['alice', 'carol', 'bob'] }
    expect(await list({}, both)).toEqual([])
  })

  it('are those of a time: from an instant on, and before another', async () => {
    expect(await listed({ fromTime: times[3] })).toEqual(urls.slice(0, 4))
    expect(await listed({ untilTime: times[3] })).toEqual(urls.slice(4))
    expect(await listed({ fromTime: times[3], untilTime: times[1] })).toEqual(urls.slice(2, 4))
    expect(await listed({ fromTime: times[1], untilTime: times[1] })).toEqual([])
  })

  it.each(['listHolderPayments', 'listGrantPayments'] as const)('come in pages: %s', async (method) => {
    const found: string[] = []
    let pageToken = ''
    do {
      const page =
        method === 'listGrantPayments'
          ? await ask(method, { ...ALICES, grantId, pageSize: 2, pageToken })
          : await ask(method, { ...ALICES, ...ALL, pageSize: 2, pageToken })
      expect(page.payments.length).toBeLessThanOrEqual(2)
      found.push(...page.payments.map(({ payment }) => payment))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(found.slice(0, 5)).toEqual(urls)
    expect(new Set(found).size).toBe(found.length)
    expect(found).not.toContain(ofCarol)
  })

  it('of one grant are only those under it', async () => {
    const { accessToken } = world.auth.issueToken({
      client: world.shop.client,
      keys: [world.shop.key],
      access: [{ type: 'outgoing-payment', actions: ['create', 'read', 'list'] }]
    })
    const other = await world.pay(await world.createReceiver(), 9, {}, { accessToken })
    const [row] = await world.database.query<{ grant_id: string }>(
      'select grant_id from outgoing_payment where id = $1',
      [other.textAt('id').slice(-36)]
    )
    const ofOther = await ask('listGrantPayments', {
      ...ALICES,
      grantId: String(row?.grant_id),
      ...FIRST_PAGE
    })
    expect(ofOther.payments.map(({ payment }) => payment)).toEqual([other.textAt('id')])
    const ofFirst = await ask('listGrantPayments', { ...ALICES, grantId, ...FIRST_PAGE })
    expect(ofFirst.payments.map(({ payment }) => payment)).not.toContain(other.textAt('id'))
    // Somebody else's payments under the same grant.
    const ofCarols = await ask('listGrantPayments', { ...ALICES, sub: 'carol', grantId, ...FIRST_PAGE })
    expect(ofCarols.payments.map(({ payment }) => payment)).toEqual([ofCarol])
    await world.whenEnded(other.textAt('id'))
  })

  it.each<[object, string]>([
    [{ issuer: 'wallet.test' }, 'INVALID_ARGUMENT issuer'],
    [{ fromTime: new Date(2_000), untilTime: new Date(1_000) }, 'INVALID_ARGUMENT until_time'],
    [{ pageSize: 201 }, 'INVALID_ARGUMENT page_size'],
    [{ pageToken: 'x' }, 'INVALID_ARGUMENT page_token'],
    [{ walletAddress: `${PUBLIC_URL}/nobody` }, 'NOT_FOUND wallet_address'],
    [{ walletAddress: 'https://other.test/alice' }, 'NOT_FOUND wallet_address'],
    [{ walletAddress: CAROL }, 'FAILED_PRECONDITION sub'],
    [{ walletAddress: BOB }, 'FAILED_PRECONDITION sub'],
    [{ walletAddress: CAROL, holderClaimValues: ['carol'] }, 'FAILED_PRECONDITION sub']
  ])('are not told for %j', async (wrong, refusal) => {
    expect(await refusedFor(ask('listHolderPayments', { ...ALICES, ...ALL, ...wrong }))).toBe(refusal)
  })

  it.each(['', 'grant', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'])(
    'are not told of no grant: %j',
    async (wrong) => {
      const asked = ask('listGrantPayments', { ...ALICES, grantId: wrong, ...FIRST_PAGE })
      expect(await refusedFor(asked)).toBe('INVALID_ARGUMENT grant_id')
    }
  )
})

describe('an event', () => {
  it('tells of each change of a holder, who held the account and who does, also of many at once', async () => {
    const told = createClient(events.EventServiceClient, {
      target: `127.0.0.1:${String(world.server.grpcPort)}`,
      deadlineMs: 10_000,
      retriesMax: 0,
      messageBytesMax: 1_048_576
    })
    const account = { name: 'heirloom', asset: USD }
    await world.operate('createAccount', account)
    const people = Array.from({ length: 3 }, (_, at) => ({ issuer: ISSUER, sub: `heir-${String(at)}` }))
    await Promise.all(people.flatMap((holder) => [setHolder('heirloom', holder), setHolder('heirloom')]))
    await setHolder('heirloom', people[0])
    await setHolder('heirloom', people[0])
    await setHolder('heirloom')
    for (let left = 1; left > 0;) {
      const [row] = await world.database.query<{ left: number }>(
        'select count(*)::integer as left from event_outbox'
      )
      left = row?.left ?? 0
      if (left > 0) await delay(10)
    }
    const list = { afterCursor: '', types: ['account.holder_changed'], pageSize: 1_000 }
    const listed = await callUnary(told, 'listEvents', list, { idempotent: true })
    listed.events.forEach(assertAsDescribed)
    const changes = listed.events
      .map(({ data }) => JSON.parse(data) as { name: string; before?: object; after?: object; by: string })
      .filter(({ name }) => name === 'heirloom')
    told.close()
    expect(changes.length).toBeGreaterThan(2)
    expect(changes.at(-1)).toMatchObject({ before: people[0], by: '' })
    expect(changes.at(-1)).not.toHaveProperty('after')
    // Each begins where the last one ended: none was lost, and none is told that changed nothing.
    expect(changes.map(({ before }) => before)).toEqual([
      undefined,
      ...changes.slice(0, -1).map(({ after }) => after)
    ])
    for (const { before, after, by } of changes) {
      expect(before).not.toEqual(after)
      expect(by).toBe('')
    }
  })
})
