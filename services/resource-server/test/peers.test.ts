import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { RpcError, status } from '@open-payments-server/grpc-transport'
import { conditionOf } from '@open-payments-server/interledger'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { wallet } from '@open-payments-server/proto'
import { createLogger, Lifecycle } from '@open-payments-server/runtime'
import { openPeers } from '../src/compose/peers.js'
import { createPeer, rotatePeerToken } from '../src/features/operate-peers/peers.js'
import { loadConfig } from '../src/index.js'
import { closePeerDays } from '../src/modules/peers/index.js'
import { openDatabase } from './support/open-database.js'
import { createPeers, newPeer, PEER_SETTINGS, type TestPeers } from './support/paying-peer.js'
import { type PaymentWorld, PUBLIC_URL, startPaymentWorld, usd } from './support/payment-world.js'

const { SETTLEMENT_DIRECTION_RECEIVED: RECEIVED, SETTLEMENT_DIRECTION_SENT: SENT } =
  wallet.SettlementDirection
const PACKET = wallet.PeerEntryKind.PEER_ENTRY_KIND_RECEIVED

/** What a service that runs in production cannot be without. */
const PRODUCTION = {
  PUBLIC_URL: 'https://wallet.example',
  AUTH_SERVER_URL: 'https://auth.wallet.example/',
  AUTH_GRPC_TARGET: 'dns:///auth-server:3002',
  DATABASE_URL: 'postgresql://wallet@postgres:5432/wallet',
  SHARED_SECRET_KEY: 'the-master-key-of-shared-secrets'
}

let world: PaymentWorld
let peers: TestPeers

beforeAll(async () => {
  world = await startPaymentWorld({ settings: PEER_SETTINGS })
  peers = createPeers(world)
})
afterAll(async () => {
  expect(await world.audit()).toEqual([])
  peers.close()
  await world.stop()
})

const create = async (settings: object = {}) => {
  const { peer } = await peers.operate('createPeer', { ...newPeer(), ...settings })
  if (peer === undefined) throw new Error('no peer was answered')
  return peer
}
/** How a call is refused: code, field and message. */
const refusalOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'not refused',
    (error: unknown) => {
      if (!(error instanceof RpcError)) throw error
      return `${status[error.code]} ${error.field ?? ''}: ${error.message}`
    }
  )
const nobody = { name: 'nobody' }

describe('a peer', () => {
  it('is created with all that is said of it, and found by its name', async () => {
    const settings = {
      name: 'other-bank',
      ilpAddress: 'test.other-bank',
      routes: ['test.other-bank-2'],
      receivableLimitValue: '100000',
      payableLimitValue: '200000',
      packetLimitValue: '1000',
      lowAlertValue: '5000',
      highAlertValue: '6000'
    }
    const created = await create(settings)
    expect(created).toMatchObject({
      ...settings,
      asset: { code: 'USD', scale: 2 },
      receivableValue: '0',
      payableValue: '0'
    })
    expect(created.incomingTokens).toHaveLength(1)
    expect(await peers.operate('getPeer', { name: 'other-bank' })).toEqual({ peer: created })
    const { peers: listed } = await peers.operate('listPeers', { pageSize: 0, pageToken: '' })
    expect(listed).toContainEqual(created)
  })

  it('shows its tokens to nobody, nor does the database', async () => {
    const order = {
      ...newPeer(),
      outgoingToken: 'a-secret-that-we-present',
      incomingToken: 'a-secret-that-they-present'
    }
    const { peer } = await peers.operate('createPeer', order)
    const stored = await world.database.query(
      'select p.*, t.* from peer p join peer_token t on t.peer_id = p.id where p.name = $1',
      [order.name]
    )
    for (const shown of [JSON.stringify(peer), JSON.stringify(stored)]) {
      expect(shown).not.toContain(order.outgoingToken)
      expect(shown).not.toContain(order.incomingToken)
    }
  })

  it.each<[string, object, RegExp]>([
    ['a name with spaces', { name: 'other bank' }, /INVALID_ARGUMENT name:/],
    ['no asset', { asset: undefined }, /INVALID_ARGUMENT asset:/],
    ['an unknown asset', { asset: { code: 'XXX', scale: 2 } }, /NOT_FOUND asset:/],
    ['what is no ILP address', { ilpAddress: 'other bank' }, /INVALID_ARGUMENT ilp_address:/],
    ['a route that is no ILP address', { routes: ['test.a', '?'] }, /INVALID_ARGUMENT routes\[1\]:/],
    ['too many routes', { routes: Array.from({ length: 101 }, () => 'test.a') }, /INVALID_ARGUMENT routes:/],
    ['a private endpoint', { endpoint: 'https://10.0.0.1/' }, /INVALID_ARGUMENT endpoint:/],
    ['no URL', { endpoint: 'other bank' }, /INVALID_ARGUMENT endpoint:/],
    ['credentials in the endpoint', { endpoint: 'http://a:b@127.0.0.1/' }, /INVALID_ARGUMENT endpoint:/],
    [
      'an endpoint of 2,049 characters',
      { endpoint: `http://127.0.0.1/${'a'.repeat(2_032)}` },
      /INVALID_ARGUMENT endpoint:/
    ],
    ['no outgoing token', { outgoingToken: '' }, /INVALID_ARGUMENT outgoing_token: .* must be 1 to 1024 /],
    ['an outgoing token with a space', { outgoingToken: 'a b' }, /INVALID_ARGUMENT outgoing_token:/],
    ['a long outgoing token', { outgoingToken: 'x'.repeat(1_025) }, /INVALID_ARGUMENT outgoing_token:/],
    ['no incoming token', { incomingToken: '' }, /INVALID_ARGUMENT incoming_token:/],
    ['a long incoming token', { incomingToken: 'x'.repeat(1_025) }, /INVALID_ARGUMENT incoming_token:/],
    ['a negative limit', { receivableLimitValue: '-1' }, /INVALID_ARGUMENT receivable_limit_value:/],
    [
      'a limit above 64 bits',
      { payableLimitValue: '18446744073709551616' },
      /INVALID_ARGUMENT payable_limit_value:/
    ],
    ['a packet limit of 0', { packetLimitValue: '0' }, /INVALID_ARGUMENT packet_limit_value:/],
    ['an alert that is no number', { lowAlertValue: '1.5' }, /INVALID_ARGUMENT low_alert_value:/],
    ['a high alert that is no number', { highAlertValue: '-1' }, /INVALID_ARGUMENT high_alert_value:/]
  ])('is not created with %s', async (_what, wrong, refusal) => {
    const order = { ...newPeer(), ...wrong }
    await expect(refusalOf(peers.operate('createPeer', order))).resolves.toMatch(refusal)
    expect(await world.database.query('select from peer where name = $1', [order.name])).toEqual([])
  })

  it('may have tokens of one character in development', async () => {
    const { name } = await create({ outgoingToken: '!', incomingToken: '~' })
    const { peer } = await peers.operate('rotatePeerToken', { name, incomingToken: 'a', overlapSeconds: 0 })
    expect(peer?.incomingTokens).toHaveLength(1)
    await peers.operate('updatePeer', { name, outgoingToken: 'b', routes: undefined })
    await expect(
      refusalOf(peers.operate('updatePeer', { name, outgoingToken: '', routes: undefined }))
    ).resolves.toMatch(/INVALID_ARGUMENT outgoing_token:/)
  })

  it('has a token of 16 characters at least in production, and is presented any that it chose', async () => {
    const logger = createLogger({ service: 'resource-server', level: 'silent' })
    const lifecycle = new Lifecycle(logger)
    const config = loadConfig({ ...PRODUCTION, ...PEER_SETTINGS })
    const context = { config, logger, lifecycle, clock: world.clock, random: { bytes: randomBytes } }
    const dependencies = {
      ...context,
      ...openPeers(context),
      database: openDatabase(world.server.pool),
      onPaymentCreated: () => undefined
    }
    const order = { ...newPeer(), asset: { code: 'USD', scale: 2 }, outgoingToken: 'test-USD' }
    const refused = { because: 'invalid', message: expect.stringMatching(/^incoming_token must be 16 to /) }
    const short = 'x'.repeat(15)
    await expect(createPeer({ ...order, incomingToken: short }, dependencies)).rejects.toMatchObject(refused)
    const { peer } = await createPeer({ ...order, incomingToken: `${short}x` }, dependencies)
    await expect(
      rotatePeerToken({ name: peer.name, incomingToken: short, overlapSeconds: 0 }, dependencies)
    ).rejects.toMatchObject(refused)
    await lifecycle.stop()
  })

  it('has a name and a token that no other has', async () => {
    const order = newPeer()
    await peers.operate('createPeer', order)
    const accounts = () => world.database.query('select count(*) from account')
    const before = await accounts()
    await expect(refusalOf(create({ name: order.name }))).resolves.toMatch(/ALREADY_EXISTS name:/)
    await expect(refusalOf(create({ incomingToken: order.incomingToken }))).resolves.toMatch(
      /ALREADY_EXISTS incoming_token:/
    )
    const { name } = await create()
    await expect(
      refusalOf(
        peers.operate('rotatePeerToken', { name, incomingToken: order.incomingToken, overlapSeconds: 0 })
      )
    ).resolves.toMatch(/ALREADY_EXISTS incoming_token:/)
    expect(Number((await accounts())[0]?.count) - Number(before[0]?.count)).toBe(2)
  })

  it('is changed in what is given, and keeps the rest', async () => {
    const created = await create({ receivableLimitValue: '100', lowAlertValue: '10', highAlertValue: '7' })
    const { peer } = await peers.operate('updatePeer', {
      name: created.name,
      receivableLimitValue: '200',
      lowAlertValue: '',
      highAlertValue: '8',
      routes: { addresses: ['test.more'] }
    })
    expect(peer).toEqual({
      ...created,
      receivableLimitValue: '200',
      lowAlertValue: '',
      highAlertValue: '8',
      routes: ['test.more']
    })
    await expect(
      refusalOf(peers.operate('updatePeer', { name: created.name, routes: undefined, endpoint: 'ftp://x' }))
    ).resolves.toMatch(/INVALID_ARGUMENT endpoint:/)
  })

  it('that nobody created is not found', async () => {
    await expect(refusalOf(peers.operate('getPeer', nobody))).resolves.toMatch(/NOT_FOUND name:/)
    await expect(refusalOf(peers.operate('updatePeer', { ...nobody, routes: undefined }))).resolves.toMatch(
      /NOT_FOUND name:/
    )
    await expect(
      refusalOf(
        peers.operate('rotatePeerToken', { ...nobody, incomingToken: 'a-token-of-nobody', overlapSeconds: 0 })
      )
    ).resolves.toMatch(/NOT_FOUND name:/)
    await expect(
      refusalOf(
        peers.operate('settlePeer', {
          ...nobody,
          direction: RECEIVED,
          value: '1',
          reference: 'x',
          key: 'key-of-nobody'
        })
      )
    ).resolves.toMatch(/NOT_FOUND name:/)
  })
})

describe('a settlement', () => {
  const settlement = (
    name: string,
    more: Partial<wallet.SettlePeerRequest> = {}
  ): wallet.SettlePeerRequest => ({
    name,
    direction: RECEIVED,
    value: '70',
    reference: 'bank 4711',
    key: `settles ${name}`.replace(' ', '-'),
    anotherWithReference: false,
    ...more
  })

  it('lowers what is owed, once for each key', async () => {
    const { name } = await create()
    const settled = await Promise.all(
      Array.from({ length: 5 }, () => peers.operate('settlePeer', settlement(name)))
    )
    expect(settled.map(({ peer }) => peer?.receivableValue)).toContain('-70')
    const { peer } = await peers.operate('settlePeer', settlement(name))
    expect(peer).toMatchObject({ receivableValue: '-70', payableValue: '0' })
    for (const other of [{ value: '71' }, { direction: SENT }, { reference: 'bank 4712' }]) {
      await expect(refusalOf(peers.operate('settlePeer', settlement(name, other)))).resolves.toMatch(
        /ALREADY_EXISTS key:/
      )
    }
  })

  it('with a reference that one has is refused, unless it is another one', async () => {
    const [{ name }, { name: other }] = [await create(), await create()]
    await peers.operate('settlePeer', settlement(name))
    const again = settlement(name, { key: 'of-another-page', value: '71' })
    const recordedAt = new Date(world.clock.now()).toISOString().slice(0, 10)
    await expect(refusalOf(peers.operate('settlePeer', again))).resolves.toMatch(
      new RegExp(`^ALREADY_EXISTS reference: .* was recorded at ${recordedAt}T.*Z, of 0\\.70 USD: `)
    )
    const { peer } = await peers.operate('getPeer', { name })
    expect(peer?.receivableValue).toBe('-70')
    // Of another peer, direction or reference it is another one.
    await peers.operate('settlePeer', settlement(other))
    await peers.operate('settlePeer', settlement(name, { key: 'we-paid', direction: SENT }))
    await peers.operate('settlePeer', settlement(name, { key: 'later', reference: 'bank 4712' }))
    const said = { ...again, anotherWithReference: true }
    for (const order of [said, said, again]) {
      const settled = await peers.operate('settlePeer', order)
      expect(settled.peer).toMatchObject({ receivableValue: '-211', payableValue: '-70' })
    }
  })

  it('is recorded once with a reference, however many record it at the same time', async () => {
    const { name } = await create()
    const refusals = await Promise.all(
      Array.from({ length: 8 }, (_, page) =>
        refusalOf(peers.operate('settlePeer', settlement(name, { key: `page-${String(page)}` })))
      )
    )
    expect(refusals.filter((refusal) => refusal.startsWith('ALREADY_EXISTS reference:'))).toHaveLength(7)
    expect((await peers.operate('getPeer', { name })).peer?.receivableValue).toBe('-70')
  })

  it('that we paid is told where it leaves little of what the peer may owe, or nothing', async () => {
    const { name } = await create({ receivableLimitValue: '1000', lowAlertValue: '300' })
    const settle = async (direction: wallet.SettlementDirection, value: string): Promise<void> => {
      const key = `${name}-${String(direction)}-${value}`
      await peers.operate('settlePeer', settlement(name, { direction, value, reference: key, key }))
    }
    // It may still owe 400, 299, 298, 308, 258, 1300 and -700.
    for (const value of ['600', '101', '1']) await settle(SENT, value)
    await settle(RECEIVED, '10')
    await settle(SENT, '50')
    await settle(RECEIVED, '1042')
    await settle(SENT, '2000')
    const told = () =>
      world.database.query(
        `select change from event join peer on peer.id = subject_id where type = 'liquidity.low' and name = $1 order by number`,
        [name]
      )
    while ((await told()).length < 3) await delay(20)
    expect(await told()).toEqual([
      { change: { receivable_value: '0', left_value: '299' } },
      { change: { receivable_value: '-10', left_value: '258' } },
      { change: { receivable_value: '-1052', left_value: '-700' } }
    ])
  })

  it('that we paid lowers what we owe', async () => {
    const { name } = await create()
    const { peer } = await peers.operate('settlePeer', settlement(name, { direction: SENT }))
    expect(peer).toMatchObject({ receivableValue: '0', payableValue: '-70' })
  })

  it.each<[string, Partial<wallet.SettlePeerRequest>, RegExp]>([
    [
      'no direction',
      { direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_UNSPECIFIED },
      /INVALID_ARGUMENT direction:/
    ],
    ['nothing', { value: '0' }, /INVALID_ARGUMENT value:/],
    ['what is no number', { value: 'x' }, /INVALID_ARGUMENT value:/],
    ['no reference', { reference: '' }, /INVALID_ARGUMENT reference:/],
    ['a long reference', { reference: 'x'.repeat(141) }, /INVALID_ARGUMENT reference:/],
    ['a line break', { reference: 'a\nb' }, /INVALID_ARGUMENT reference:/],
    ['no key', { key: '' }, /INVALID_ARGUMENT key:/],
    ['a key with a space', { key: 'a b' }, /INVALID_ARGUMENT key:/]
  ])('of %s is refused', async (_what, wrong, refusal) => {
    const { name } = await create()
    await expect(refusalOf(peers.operate('settlePeer', settlement(name, wrong)))).resolves.toMatch(refusal)
  })
})

describe('a statement', () => {
  it('lists what was booked on a day, and what was owed before and after', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver({
      expiresAt: new Date(world.clock.now() + 7 * 86_400_000).toISOString()
    })
    const to = peers.destinationOf(
      (await world.request('GET', receiver.slice(PUBLIC_URL.length))).at('methods')
    )
    const today = new Date(world.clock.now()).toISOString().slice(0, 10)
    await peer.pay(to, 300n)
    await peers.operate('settlePeer', {
      name: peer.name,
      direction: RECEIVED,
      value: '120',
      reference: 'bank 1',
      key: `first-${peer.name}`
    })
    const asked = { name: peer.name, date: today }
    // What there is until now, from the first moment on.
    const untilNow = await peers.operate('listPeerEntries', { ...asked, pageSize: 0, pageToken: '' })
    expect(untilNow.incomplete).toBe(true)
    expect(await peers.operate('getPeerStatement', asked)).toMatchObject({
      openingReceivableValue: '0',
      closingReceivableValue: '180',
      incomplete: true
    })
    const tomorrow = new Date(world.clock.now() + 86_400_000).toISOString().slice(0, 10)
    for (const call of [
      peers.operate('getPeerStatement', { ...asked, date: tomorrow }),
      peers.operate('listPeerEntries', { ...asked, date: tomorrow, pageSize: 0, pageToken: '' })
    ])
      await expect(refusalOf(call)).resolves.toMatch(/FAILED_PRECONDITION date: .* has not begun/)
    world.clock.advanceSeconds(86_400)
    await peer.pay(to, 50n)
    // Until a minute after its end, something may still be booked on a day.
    const ends = Date.parse(`${tomorrow}T00:00:00Z`) + 86_400_000
    world.clock.set(ends + 59_999)
    expect(await peers.operate('getPeerStatement', { ...asked, date: tomorrow })).toMatchObject({
      incomplete: true
    })
    world.clock.set(ends + 60_000)

    const listed = await peers.operate('listPeerEntries', { ...asked, pageSize: 0, pageToken: '' })
    expect(listed).toEqual({ ...untilNow, incomplete: false })
    const { entries } = listed
    const packets = entries.filter(({ kind }) => kind === PACKET)
    expect(packets.reduce((sum, { value }) => sum + BigInt(value), 0n)).toBe(300n)
    expect(packets.every(({ payment }) => payment === receiver)).toBe(true)
    expect(packets.every(({ identifier }) => Buffer.from(identifier, 'base64url').length === 32)).toBe(true)
    expect(packets.map(({ fulfillment = '' }) => conditionOf(Buffer.from(fulfillment, 'base64url')))).toEqual(
      packets.map(({ identifier }) => Buffer.from(identifier, 'base64url'))
    )
    const unproven = entries.filter(({ kind }) => kind !== PACKET)
    expect(unproven.map(({ fulfillment }) => fulfillment)).toEqual([undefined])
    expect(entries.filter(({ kind }) => kind !== PACKET)).toMatchObject([
      { kind: wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_RECEIVED, identifier: 'bank 1', value: '120' }
    ])
    expect(await peers.operate('getPeerStatement', asked)).toMatchObject({
      openingReceivableValue: '0',
      closingReceivableValue: '180',
      openingPayableValue: '0',
      closingPayableValue: '0',
      incomplete: false
    })
    expect(await peers.operate('getPeerStatement', { ...asked, date: tomorrow })).toMatchObject({
      openingReceivableValue: '180',
      closingReceivableValue: '230',
      incomplete: false
    })
    expect((await world.request('GET', receiver.slice(PUBLIC_URL.length))).at('receivedAmount')).toEqual(
      usd(350)
    )

    const paged: string[] = []
    let pageToken = ''
    do {
      const page = await peers.operate('listPeerEntries', { ...asked, pageSize: 1, pageToken })
      paged.push(...page.entries.map(({ identifier }) => identifier))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(paged).toEqual(entries.map(({ identifier }) => identifier))
  })

  it('begins with what was owed before, whatever was settled since', async () => {
    const { name } = await create()
    const settle = async (direction: wallet.SettlementDirection, value: string): Promise<void> => {
      const key = `${name}-${String(direction)}-${value}`
      await peers.operate('settlePeer', { name, direction, value, reference: key, key })
    }
    const dates: string[] = []
    for (const [received, sent] of [
      ['70', '90'],
      ['5', '6']
    ] as const) {
      dates.push(new Date(world.clock.now()).toISOString().slice(0, 10))
      await settle(RECEIVED, received)
      await settle(SENT, sent)
      world.clock.advanceSeconds(86_400 + 60)
    }
    const [first, second] = await Promise.all(
      dates.map((date) => peers.operate('getPeerStatement', { name, date }))
    )
    expect(first).toMatchObject({
      openingReceivableValue: '0',
      closingReceivableValue: '-70',
      openingPayableValue: '0',
      closingPayableValue: '-90'
    })
    expect(second).toMatchObject({
      openingReceivableValue: '-70',
      closingReceivableValue: '-75',
      openingPayableValue: '-90',
      closingPayableValue: '-96'
    })
  })

  it('is read from the days that were closed, and the audit compares them with what was booked', async () => {
    const { name, id } = await create()
    const database = openDatabase(world.server.pool)
    const close = async (): Promise<void> => {
      const endedBeforeMs = world.clock.now()
      while ((await closePeerDays(database, { endedBeforeMs, countMax: 1 })) > 0);
    }
    const statements = () =>
      Promise.all(dates.map((date) => peers.operate('getPeerStatement', { name, date })))
    const dates: string[] = []
    for (const [received, sent] of [
      [7n, 2n],
      [undefined, undefined],
      [5n, 30n]
    ] as const) {
      dates.push(new Date(world.clock.now()).toISOString().slice(0, 10))
      for (const [direction, value] of [[RECEIVED, received] as const, [SENT, sent] as const]) {
        const key = `${name}-${String(direction)}-${String(value)}`
        const order = { name, direction, value: String(value), reference: key, key }
        if (value !== undefined) await peers.operate('settlePeer', order)
      }
      world.clock.advanceSeconds(86_400)
    }
    dates.push(new Date(world.clock.now()).toISOString().slice(0, 10))
    const summed = await statements()
    expect(summed.map(({ closingReceivableValue }) => closingReceivableValue)).toEqual([
      '-7',
      '-7',
      '-12',
      '-12'
    ])
    expect(summed.map(({ closingPayableValue }) => closingPayableValue)).toEqual(['-2', '-2', '-32', '-32'])

    // The days of all peers, also twice at the same time.
    await Promise.all([close(), close()])
    const days = `from peer_day where peer_id = $1 and ended_at > $2::timestamptz`
    const [kept] = await world.database.query<{ count: number }>(`select count(*)::int as count ${days}`, [
      id,
      dates[0]
    ])
    expect(kept?.count).toBe(3)
    expect(await statements()).toEqual(summed)
    expect(await world.audit()).toEqual([])

    const damaged = `update peer_day set payable_value = payable_value + 1 where peer_id = $1 and ended_at = $2::timestamptz`
    await world.database.query(damaged, [id, dates[2]])
    const read = (await statements()).map(({ closingPayableValue }) => closingPayableValue)
    expect(read).toEqual(['-2', '-1', '-32', '-32'])
    const told = (await world.audit()).filter((violation) => violation.includes(name))
    expect(told).toHaveLength(2)
    // As docs/runbooks/AuditFailed.md advises.
    await world.database.query(`delete from peer_day where peer_id = $1 and ended_at >= $2::timestamptz`, [
      id,
      dates[2]
    ])
    await close()
    expect(await statements()).toEqual(summed)
  })

  it('of a day that something was booked on later is told by the audit', async () => {
    const { name, id } = await create()
    const database = openDatabase(world.server.pool)
    const key = `${name}-late`
    world.clock.advanceSeconds(3 * 86_400)
    while ((await closePeerDays(database, { endedBeforeMs: world.clock.now(), countMax: 500 })) > 0);
    await peers.operate('settlePeer', { name, direction: RECEIVED, value: '9', reference: key, key })
    const dated = `update transfer set created_at = created_at + $2::interval
                    where id = (select id from peer_settlement where peer_id = $1)`
    await world.database.query(dated, [id, '-2 days'])
    const told = (await world.audit()).filter((violation) => violation.includes(name))
    await world.database.query(dated, [id, '2 days'])
    expect(told).toEqual([
      expect.stringMatching(/what it owes changed by 0, and what it is owed by 0; booked is -9 and 0/)
    ])
  })

  it.each(['2026-02-30', '2026-1-1', 'today', '1969-12-31', ''])('of "%s" is refused', async (date) => {
    const { name } = await create()
    await expect(refusalOf(peers.operate('getPeerStatement', { name, date }))).resolves.toMatch(
      /INVALID_ARGUMENT date:/
    )
  })
})

it('without a key for their tokens, no peer is created', async () => {
  const without = await startPaymentWorld()
  const others = createPeers(without)
  await expect(refusalOf(others.operate('createPeer', newPeer()))).resolves.toMatch(/FAILED_PRECONDITION/)
  others.close()
  await without.stop()
})

it('an event tells when little is left of what a peer may owe, once each time it falls below', async () => {
  const peer = await peers.create({ receivableLimitValue: '1000', lowAlertValue: '400' })
  const receiver = await world.createReceiver()
  const to = peers.destinationOf(
    (await world.request('GET', receiver.slice(PUBLIC_URL.length))).at('methods')
  )
  for (const value of [500n, 150n, 150n]) await peer.pay(to, value)
  await peers.operate('settlePeer', {
    name: peer.name,
    direction: RECEIVED,
    value: '700',
    reference: 'bank 2',
    key: `second-${peer.name}`
  })
  await peer.pay(to, 650n)
  const told = () =>
    world.database.query<{ change: unknown }>(
      `select change from event join peer on peer.id = subject_id where type = 'liquidity.low' and name = $1 order by number`,
      [peer.name]
    )
  while ((await told()).length < 2) await delay(20)
  expect(await told()).toEqual([
    { change: { receivable_value: '650', left_value: '350' } },
    { change: { receivable_value: '750', left_value: '250' } }
  ])
})
