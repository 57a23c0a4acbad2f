import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { createLogger, systemClock, systemRandom } from '@open-payments-server/runtime'
import { wallet } from '@open-payments-server/proto'
import type { Answer } from '@open-payments-server/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { sweepOrphans } from '../src/features/sweep-orphans/sweep-orphans.js'
import { connectAuthServer } from '../src/grpc/auth-server/connection.js'
import { createGrantLimits } from '../src/grpc/auth-server/grant-limits.js'
import { openDatabase } from './support/open-database.js'
import { ALICE, BOB, PUBLIC_URL, type PaymentWorld, startPaymentWorld, usd } from './support/payment-world.js'

let world: PaymentWorld

beforeAll(async () => {
  world = await startPaymentWorld()
})
afterEach(async () => {
  for (const accountName of ['alice', 'bob'])
    await world.operate('unfreezeAccount', { accountName, reason: '' })
  for (const walletAddress of [ALICE, BOB])
    await world.operate('unfreezeWalletAddress', { walletAddress, reason: '' })
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
})
afterAll(() => world.stop())

type Frozen = 'account' | 'wallet address'

/** Freezes alice's or bob's account or wallet address, or ends that. */
async function freeze(what: Frozen, name: 'alice' | 'bob', freezes = true): Promise<void> {
  const reason = 'stolen phone'
  if (what === 'account')
    await world.operate(freezes ? 'freezeAccount' : 'unfreezeAccount', { accountName: name, reason })
  else
    await world.operate(freezes ? 'freezeWalletAddress' : 'unfreezeWalletAddress', {
      walletAddress: `${PUBLIC_URL}/${name}`,
      reason
    })
}

const create = (path: string, body: object, options = {}): Promise<Answer> =>
  world.request('POST', path, { body, ...options })
const quote = (receiver: string): Promise<Answer> =>
  create('/quotes', { walletAddress: ALICE, receiver, method: 'ilp', debitAmount: usd(10) })
const read = (url: string): Promise<Answer> => world.request('GET', url.slice(PUBLIC_URL.length))
const errorOf = ({ status: code, body }: Answer): unknown => ({
  status: code,
  ...(body as { error?: object }).error
})
const rows = async (table: string): Promise<number> => {
  const [row] = await world.database.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return row?.count ?? NaN
}
const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing was refused',
    (error: unknown) =>
      error instanceof RpcError ? `${status[error.code]} ${String(error.field)}` : String(error)
  )
const held = async (name: string): Promise<string> => {
  const { accounts } = await world.operate('listAccounts', { name, pageSize: 0, pageToken: '' })
  return accounts[0]?.heldValue ?? ''
}

/** Waits until a statement waits for a lock. */
async function whenWaiting(statement: string): Promise<void> {
  for (;;) {
    const waiting = await world.database.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like $1`,
      [`%${statement}%`]
    )
    if (waiting.length > 0) return
    await delay(5)
  }
}

/** A payment that is pending when `then` happens: its receiver is locked until its claim is cancelled. */
async function payAnd(receiver: string, then: () => Promise<void>, more: object = {}): Promise<Answer> {
  const client = await world.server.pool.connect()
  try {
    await client.query('begin')
    await client.query('select from incoming_payment where id = $1 for no key update', [receiver.slice(-36)])
    const created = await world.pay(receiver, 100, more)
    expect(created).toMatchObject({ status: 201 })
    await whenWaiting('claim-outgoing-payments')
    await then()
    await world.database.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%claim-outgoing-payments%'`
    )
    await client.query('commit')
    return created
  } finally {
    client.release()
  }
}

const FROZEN = {
  status: 403,
  code: '403',
  description: 'account frozen',
  details: { reason: 'account_frozen' }
}

describe.each<Frozen>(['account', 'wallet address'])('a frozen %s', (what) => {
  it('makes no payment, and leaves nothing reserved', async () => {
    const receiver = await world.createReceiver()
    const quoted = await world.createQuote(receiver, { debitAmount: usd(10) })
    const spent = world.limits.spent(world.token)
    const payments = await rows('outgoing_payment')
    await freeze(what, 'alice')
    expect(errorOf(await world.pay(receiver, 100))).toEqual(FROZEN)
    const paid = await create('/outgoing-payments', { walletAddress: ALICE, quoteId: quoted })
    expect(errorOf(paid)).toEqual(FROZEN)
    await world.whenDelivered()
    expect(world.limits.spent(world.token)).toEqual(spent)
    expect(await rows('outgoing_payment')).toBe(payments)
    expect(await rows("grant_reservation where given_up_cause = 'account_frozen'")).toBeGreaterThanOrEqual(2)

    await freeze(what, 'alice', false)
    expect(await world.pay(receiver, 100)).toMatchObject({ status: 201 })
    expect(await create('/outgoing-payments', { walletAddress: ALICE, quoteId: quoted })).toMatchObject({
      status: 201
    })
  })

  it('answers a repeated request with the payment that it made before', async () => {
    const receiver = await world.createReceiver()
    const options = { headers: { 'idempotency-key': randomUUID() }, signature: { nonce: randomUUID() } }
    const body = { walletAddress: ALICE, incomingPayment: receiver, debitAmount: usd(7) }
    const first = await create('/outgoing-payments', body, options)
    expect(first).toMatchObject({ status: 201 })
    await world.whenEnded(first.textAt('id'))
    await freeze(what, 'alice')
    const again = await create('/outgoing-payments', body, { headers: options.headers })
    expect(again).toMatchObject({ status: 201, body: { id: first.textAt('id') } })
  })

  it('gets no quote and no incoming payment, and strangers are not told why', async () => {
    const receiver = await world.createReceiver()
    const [quotes, incoming] = [await rows('quote'), await rows('incoming_payment')]
    await freeze(what, 'alice')
    const stranger = {
      status: 403,
      code: '403',
      description: 'the wallet address cannot be used now',
      details: { walletAddress: 'cannot be used now' }
    }
    expect(errorOf(await quote(receiver))).toEqual(stranger)
    expect(errorOf(await create('/incoming-payments', { walletAddress: ALICE }))).toEqual(stranger)
    const key = { headers: { 'idempotency-key': randomUUID() } }
    expect(errorOf(await create('/incoming-payments', { walletAddress: ALICE }, key))).toEqual(stranger)
    const { accessToken } = world.auth.issueToken({
      client: world.shop.client,
      keys: [world.shop.key],
      access: [
        { type: 'incoming-payment', actions: ['create'] },
        { type: 'quote', actions: ['create'] }
      ],
      consentedWalletAddress: ALICE
    })
    expect(errorOf(await create('/incoming-payments', { walletAddress: ALICE }, { accessToken }))).toEqual(
      FROZEN
    )
    expect([await rows('quote'), await rows('incoming_payment')]).toEqual([quotes, incoming])

    await freeze(what, 'alice', false)
    expect(await quote(receiver)).toMatchObject({ status: 201 })
    expect(await create('/incoming-payments', { walletAddress: ALICE }, key)).toMatchObject({ status: 201 })
  })

  it('is paid nothing, and its payers only learn that it cannot be paid', async () => {
    const receiver = await world.createReceiver({ incomingAmount: usd(500) })
    const quoted = await world.createQuote(receiver)
    const elsewhere = await world.createQuoteElsewhere(quoted)
    await freeze(what, 'bob')
    const notPayable = { status: 400, description: 'invalid receiver' }
    expect(errorOf(await world.pay(receiver, 100))).toMatchObject(notPayable)
    expect(errorOf(await quote(receiver))).toMatchObject(notPayable)
    for (const quoteId of [quoted, elsewhere]) {
      const paid = await create('/outgoing-payments', { walletAddress: ALICE, quoteId })
      expect(errorOf(paid)).toMatchObject(notPayable)
    }
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(0) })
    await freeze(what, 'bob', false)
    expect(await world.pay(receiver, 100)).toMatchObject({ status: 201 })
  })

  it('is still served, with its keys and its payments', async () => {
    const receiver = await world.createReceiver()
    await freeze(what, 'bob')
    expect(await world.send('GET', '/bob')).toMatchObject({ status: 200, body: { id: BOB } })
    expect(await world.send('GET', '/bob/jwks.json')).toMatchObject({ status: 200 })
    expect(await read(receiver)).toMatchObject({ status: 200 })
    expect(await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)).toMatchObject({
      status: 200
    })
  })

  it('holds its pending payment, with the money, until it is unfrozen', async () => {
    const receiver = await world.createReceiver()
    const created = await payAnd(receiver, () => freeze(what, 'alice'))
    await delay(300)
    expect((await read(created.textAt('id'))).body).toMatchObject({ failed: false, sentAmount: usd(0) })
    expect(await held('alice')).toBe('100')
    expect(await world.audit(1)).toEqual([])
    await freeze(what, 'alice', false)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({ sentAmount: usd(100) })
  })

  it('keeps the reservation of a payment on hold, which counts neither as orphaned nor as old', async () => {
    const receiver = await world.createReceiver()
    const created = await payAnd(receiver, () => freeze(what, 'alice'))
    const reservation = world.limits.reservations.get(created.textAt('id').slice(-36))
    if (reservation === undefined) throw new Error('the payment has no reservation')
    const madeAt = new Date(Date.now() - 3_600_000)
    reservation.createdAt = madeAt
    const connection = connectAuthServer({
      target: `127.0.0.1:${String(world.auth.port)}`,
      deadlineMs: 5_000,
      messageBytesMax: 1_048_576
    })
    try {
      const sweep = (holdsFrozen: boolean) =>
        sweepOrphans(
          { pageSize: 100, pageToken: undefined },
          {
            database: openDatabase(world.server.pool),
            keepsCommits: false,
            grantLimits: createGrantLimits(connection.grantLimits, { deadlineMs: 5_000 }),
            orphanAgeSeconds: 60,
            holdsFrozen,
            clock: systemClock,
            random: systemRandom,
            logger: createLogger({ service: 'test', level: 'silent' }),
            counters: { countGivenUp: () => undefined }
          }
        )
      expect(await sweep(true)).toMatchObject({ givenUp: 0, unsettledSinceMs: undefined })
      expect(await sweep(false)).toMatchObject({ givenUp: 0, unsettledSinceMs: madeAt.getTime() })
    } finally {
      connection.close()
    }
    await freeze(what, 'alice', false)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({ sentAmount: usd(100) })
  })

  it('holds the pending payment to it, and others are paid meanwhile', async () => {
    const receiver = await world.createReceiver()
    const created = await payAnd(receiver, () => freeze(what, 'bob'))
    const other = await world.createReceiver({ walletAddress: ALICE })
    const paid = await world.pay(other, 50)
    expect((await world.whenEnded(paid.textAt('id'))).body).toMatchObject({ sentAmount: usd(50) })
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(0) })
    expect((await read(created.textAt('id'))).body).toMatchObject({ sentAmount: usd(0), failed: false })
    await freeze(what, 'bob', false)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({ sentAmount: usd(100) })
  })

  it('ends a pending payment that can no longer go on, and returns its money', async () => {
    const receiver = await world.createReceiver()
    const before = await world.available('alice')
    const created = await payAnd(receiver, () => freeze(what, 'alice'))
    const complete = await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)
    expect(complete).toMatchObject({ status: 200 })
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({
      failed: true,
      failureReason: 'account_frozen',
      sentAmount: usd(0)
    })
    expect(await world.available('alice')).toBe(before)
  })

  it('holds a refund too, which gives back what it took of the bound if it can no longer go on', async () => {
    const paid = await world.pay(await world.createReceiver(), 100)
    await world.whenEnded(paid.textAt('id'))
    const refundOf = paid.textAt('id')
    const returned = await world.createReceiver({ walletAddress: ALICE })
    const before = await world.available('bob')
    const more = { walletAddress: BOB, refundOf }
    const held = await payAnd(returned, () => freeze(what, 'bob'), more)
    const byProvider = { refundOf, value: '60', idempotencyKey: '', returnsFee: false }
    expect(await refusalOf(world.operate('createRefund', byProvider))).toBe('FAILED_PRECONDITION value')
    await world.request('POST', `${returned.slice(PUBLIC_URL.length)}/complete`)
    expect((await world.whenEnded(held.textAt('id'))).body).toMatchObject({
      failureReason: 'account_frozen'
    })
    // An operator's refund is possible from what is frozen.
    await world.operate('createRefund', byProvider)
    expect((await read(refundOf)).body).toMatchObject({ refundedAmount: usd(60) })
    expect(await world.available('bob')).toBe(before - 60n)
    const another = await world.createReceiver({ walletAddress: ALICE })
    expect(errorOf(await world.pay(another, 40, more))).toEqual(FROZEN)
  })
})

describe('a paused grant', () => {
  const GRANT_PAUSED = {
    status: 403,
    code: '403',
    description: 'grant paused',
    details: { reason: 'grant_paused' }
  }
  const grantId = (): string => world.auth.grantOf(world.token) ?? ''
  const pause = (paused: boolean): Promise<void> => world.auth.changePause(grantId(), paused)
  afterEach(() => pause(false))

  it('may only be read under, from the moment on at which the stream tells of it', async () => {
    const receiver = await world.createReceiver()
    const asked = world.auth.introspections
    expect(await read(receiver)).toMatchObject({ status: 200 })
    expect(world.auth.introspections).toBe(asked) // the answer about its token is cached
    await pause(true)
    // The stream is another connection than that of the requests. What follows fails if it never comes to that.
    for (let tries = 0; tries < 100 && (await world.pay(receiver, 1)).status !== 403; tries += 1)
      await delay(5)
    for (const refused of [
      await world.pay(receiver, 1),
      await quote(receiver),
      await create('/incoming-payments', { walletAddress: BOB }),
      await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)
    ])
      expect(errorOf(refused)).toEqual(GRANT_PAUSED)
    expect(await read(receiver)).toMatchObject({ status: 200 })
    await pause(false)
    expect(await world.pay(receiver, 1)).toMatchObject({ status: 201 })
  })

  it('is refused by the auth server where the resource server does not know of it yet', async () => {
    const receiver = await world.createReceiver()
    world.limits.pausedGrants.add(grantId())
    const count = await rows('grant_reservation')
    expect(errorOf(await world.pay(receiver, 1))).toEqual(GRANT_PAUSED)
    expect(await rows('grant_reservation')).toBe(count)
    world.limits.pausedGrants.clear()
    expect(await world.pay(receiver, 1)).toMatchObject({ status: 201 })
  })
})

describe('a frozen client', () => {
  const CLIENT_FROZEN = {
    status: 403,
    code: '403',
    description: 'client frozen',
    details: { reason: 'client_frozen' }
  }
  const change = (frozen: boolean): Promise<void> => world.auth.changeFreeze(world.shop.client, frozen)
  const known = (): Promise<number> => rows('frozen_client')
  afterEach(async () => {
    await change(false)
    while ((await known()) > 0) await delay(5)
  })

  it('may only read, from the moment on at which the stream tells of it', async () => {
    const receiver = await world.createReceiver()
    const asked = world.auth.introspections
    expect(await read(receiver)).toMatchObject({ status: 200 })
    expect(world.auth.introspections).toBe(asked) // the answer about its token is cached
    await change(true)
    while ((await known()) === 0) await delay(5)
    for (const refused of [
      await world.pay(receiver, 1),
      await quote(receiver),
      await create('/incoming-payments', { walletAddress: BOB }),
      await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)
    ])
      expect(errorOf(refused)).toEqual(CLIENT_FROZEN)
    expect(await read(receiver)).toMatchObject({ status: 200 })
    await change(false)
    expect(await world.pay(receiver, 1)).toMatchObject({ status: 201 })
  })

  it('is not told to whoever only has its token', async () => {
    await change(true)
    const forged = await world.createClient('thief').request([], 'POST', '/incoming-payments', {
      accessToken: world.token,
      body: { walletAddress: BOB }
    })
    expect(forged).toMatchObject({ status: 401 })
    expect(forged.text).not.toContain('frozen')
  })

  it('is refused by the auth server where the resource server does not know of it yet', async () => {
    const receiver = await world.createReceiver()
    world.limits.frozenClients = () => [world.shop.client]
    try {
      const count = await rows('grant_reservation')
      expect(errorOf(await world.pay(receiver, 1))).toEqual(CLIENT_FROZEN)
      expect(await rows('grant_reservation')).toBe(count)
    } finally {
      world.limits.frozenClients = () => world.auth.frozenClients
    }
    expect(await world.pay(receiver, 1)).toMatchObject({ status: 201 })
  })

  it('has its pending payments held until its freeze ends', async () => {
    const receiver = await world.createReceiver()
    const created = await payAnd(receiver, async () => {
      await change(true)
      while ((await known()) === 0) await delay(5)
    })
    // Whatever an operator freezes or unfreezes wakes the worker.
    await freeze('account', 'bob')
    await freeze('account', 'bob', false)
    await delay(500)
    expect((await read(created.textAt('id'))).body).toMatchObject({ failed: false, sentAmount: usd(0) })
    await change(false)
    expect((await world.whenEnded(created.textAt('id'))).body).toMatchObject({ sentAmount: usd(100) })
  })

  it('that was frozen while the stream was down is known once it is back', async () => {
    world.auth.setStreaming(false)
    while (world.auth.streams > 0) await delay(5)
    await change(true)
    world.auth.setStreaming(true)
    await world.auth.whenStreaming()
    while ((await known()) === 0) await delay(5)
    expect(errorOf(await create('/incoming-payments', { walletAddress: BOB }))).toEqual(CLIENT_FROZEN)
  })
})

describe('an operator', () => {
  it('sees what is frozen, since when, why and by whom; repeating changes nothing', async () => {
    const [first, again] = [
      await world.operate('freezeAccount', { accountName: 'alice', reason: 'court order' }),
      await world.operate('freezeAccount', { accountName: 'alice', reason: 'another' })
    ]
    expect(first.account?.freeze).toMatchObject({ reason: 'court order', frozenBy: '' })
    expect(again.account).toEqual(first.account)
    const address = await world.operate('freezeWalletAddress', { walletAddress: BOB, reason: '' })
    const accounts = await world.operate('listAccounts', { name: '', pageSize: 0, pageToken: '' })
    const addresses = await world.operate(
      'listWalletAddresses',
      wallet.ListWalletAddressesRequest.fromPartial({})
    )
    expect(accounts.accounts.map(({ name, freeze: is }) => [name, is?.reason])).toEqual([
      ['alice', 'court order'],
      ['bob', undefined],
      ['carol', undefined]
    ])
    expect(addresses.walletAddresses.find(({ url }) => url === BOB)).toEqual(address.walletAddress)
    expect(address.walletAddress?.freeze).toMatchObject({ reason: '' })
    const { account } = await world.operate('unfreezeAccount', { accountName: 'alice', reason: '' })
    expect(account?.freeze).toBeUndefined()
  })

  it.each<Frozen>(['account', 'wallet address'])(
    'ends only the freeze of the %s that they were shown',
    async (what) => {
      const freezeOf = async (): Promise<wallet.Freeze | undefined> => {
        const [address] = (
          await world.operate(
            'listWalletAddresses',
            wallet.ListWalletAddressesRequest.fromPartial({ walletAddress: ALICE })
          )
        ).walletAddresses
        const { accounts } = await world.operate('listAccounts', {
          name: 'alice',
          pageSize: 0,
          pageToken: ''
        })
        return what === 'account' ? accounts[0]?.freeze : address?.freeze
      }
      const end = (freezeTime: Date | undefined): Promise<unknown> =>
        what === 'account'
          ? world.operate('unfreezeAccount', { accountName: 'alice', reason: '', freezeTime })
          : world.operate('unfreezeWalletAddress', { walletAddress: ALICE, reason: '', freezeTime })
      await freeze(what, 'alice')
      const shown = (await freezeOf())?.freezeTime
      await freeze(what, 'alice', false)
      world.clock.advanceSeconds(1)
      await freeze(what, 'alice')
      const another = await freezeOf()
      expect(await refusalOf(end(shown))).toBe('FAILED_PRECONDITION freeze_time')
      expect(await freezeOf()).toEqual(another)
      await end(another?.freezeTime)
      expect(await freezeOf()).toBeUndefined()
      // It has ended already.
      await end(another?.freezeTime)
      expect(await refusalOf(end(new Date(-1e15)))).toBe('INVALID_ARGUMENT freeze_time')
    }
  )

  it('still deposits to a frozen account, and withdraws from it', async () => {
    await freeze('account', 'alice')
    const before = await world.available('alice')
    await world.operate('deposit', { depositId: randomUUID(), accountName: 'alice', value: '30' })
    await world.operate('withdraw', { withdrawalId: randomUUID(), accountName: 'alice', value: '10' })
    expect(await world.available('alice')).toBe(before + 20n)
  })

  it('is refused what is unknown, or a reason that is too long or has control characters', async () => {
    expect(await refusalOf(world.operate('freezeAccount', { accountName: 'nobody', reason: '' }))).toBe(
      'NOT_FOUND account_name'
    )
    for (const walletAddress of [`${PUBLIC_URL}/nobody`, 'x', 'https://elsewhere.example/bob'])
      expect(await refusalOf(world.operate('unfreezeWalletAddress', { walletAddress, reason: '' }))).toBe(
        'NOT_FOUND wallet_address'
      )
    for (const reason of ['x'.repeat(257), 'a\nb']) {
      expect(await refusalOf(world.operate('freezeAccount', { accountName: 'alice', reason }))).toBe(
        'INVALID_ARGUMENT reason'
      )
      expect(await refusalOf(world.operate('freezeWalletAddress', { walletAddress: ALICE, reason }))).toBe(
        'INVALID_ARGUMENT reason'
      )
    }
    const { accounts } = await world.operate('listAccounts', { name: 'alice', pageSize: 0, pageToken: '' })
    expect(accounts[0]?.freeze).toBeUndefined()
  })
})

// Either the payment was persisted before the freeze was answered, or not at all.
it.each<Frozen>(['account', 'wallet address'])('a freeze of the %s always wins a race', async (what) => {
  const receiver = await world.createReceiver()
  for (let round = 0; round < 15; round += 1) {
    const paying = Array.from({ length: 6 }, () => world.pay(receiver, 1))
    await delay(Math.random() * 12)
    await freeze(what, 'alice')
    const persisted = await rows('outgoing_payment')
    const answers = await Promise.all(paying)
    expect(await rows('outgoing_payment')).toBe(persisted)
    expect(answers.map(({ status: code }) => code).filter((code) => code !== 201 && code !== 403)).toEqual([])
    await freeze(what, 'alice', false)
  }
})

// The row that a freeze changes is locked before it is looked at: what the statement saw as it began does not count.
it.each<[Frozen, string]>([
  ['account', `account set frozen_at = now(), frozen_by = '', freeze_reason = '' where name = 'alice'`],
  [
    'wallet address',
    `wallet_address set frozen_at = now(), frozen_by = '', freeze_reason = '' where path = '/alice'`
  ]
])('a payment waits for a freeze of the %s that is being committed', async (_what, change) => {
  const receiver = await world.createReceiver()
  const client = await world.server.pool.connect()
  try {
    await client.query('begin')
    await client.query(`update ${change}`)
    const paying = world.pay(receiver, 1)
    await whenWaiting('persist-outgoing-payments')
    await client.query('commit')
    expect(errorOf(await paying)).toEqual(FROZEN)
  } finally {
    client.release()
  }
})

describe('where pending payments finish', () => {
  let finishing: PaymentWorld
  beforeAll(async () => {
    finishing = await startPaymentWorld({ settings: { FREEZE_PENDING_PAYMENTS: 'finish' } })
  })
  afterAll(() => finishing.stop())

  it('one that a freeze is about is paid', async () => {
    const { database } = finishing
    const receiver = await finishing.createReceiver()
    const client = await finishing.server.pool.connect()
    await client.query('begin')
    await client.query('select from incoming_payment where id = $1 for no key update', [receiver.slice(-36)])
    const created = await finishing.pay(receiver, 100)
    for (const accountName of ['alice', 'bob'])
      await finishing.operate('freezeAccount', { accountName, reason: '' })
    await database.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%claim-outgoing-payments%'`
    )
    await client.query('commit')
    client.release()
    expect((await finishing.whenEnded(created.textAt('id'))).body).toMatchObject({ sentAmount: usd(100) })
    expect(await finishing.pay(receiver, 1)).toMatchObject({ status: 403 })
  })
})
