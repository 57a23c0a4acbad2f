import { RpcError, status } from '@open-payments-server/grpc-transport'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { wallet } from '@open-payments-server/proto'
import { createPeers, newPeer, PEER_SETTINGS, type TestPeers } from './support/paying-peer.js'
import { type PaymentWorld, PUBLIC_URL, startPaymentWorld, usd } from './support/payment-world.js'

const { SETTLEMENT_DIRECTION_RECEIVED: RECEIVED, SETTLEMENT_DIRECTION_SENT: SENT } =
  wallet.SettlementDirection
const PACKET = wallet.PeerEntryKind.PEER_ENTRY_KIND_RECEIVED

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
    ['a short outgoing token', { outgoingToken: 'short' }, /INVALID_ARGUMENT outgoing_token:/],
    ['a short incoming token', { incomingToken: 'short' }, /INVALID_ARGUMENT incoming_token:/],
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
    await expect(refusalOf(peers.operate('getPeerStatement', asked))).resolves.toMatch(
      /FAILED_PRECONDITION date:/
    )
    world.clock.advanceSeconds(86_400)
    const tomorrow = new Date(world.clock.now()).toISOString().slice(0, 10)
    await peer.pay(to, 50n)
    world.clock.advanceSeconds(86_400 + 60)

    const { entries } = await peers.operate('listPeerEntries', { ...asked, pageSize: 0, pageToken: '' })
    const packets = entries.filter(({ kind }) => kind === PACKET)
    expect(packets.reduce((sum, { value }) => sum + BigInt(value), 0n)).toBe(300n)
    expect(packets.every(({ payment }) => payment === receiver)).toBe(true)
    expect(packets.every(({ identifier }) => Buffer.from(identifier, 'base64url').length === 32)).toBe(true)
    expect(entries.filter(({ kind }) => kind !== PACKET)).toMatchObject([
      { kind: wallet.PeerEntryKind.PEER_ENTRY_KIND_SETTLEMENT_RECEIVED, identifier: 'bank 1', value: '120' }
    ])
    expect(await peers.operate('getPeerStatement', asked)).toMatchObject({
      openingReceivableValue: '0',
      closingReceivableValue: '180',
      openingPayableValue: '0',
      closingPayableValue: '0'
    })
    expect(await peers.operate('getPeerStatement', { ...asked, date: tomorrow })).toMatchObject({
      openingReceivableValue: '180',
      closingReceivableValue: '230'
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
  while ((await told()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await told()).toEqual([
    { change: { receivable_value: '650', left_value: '350' } },
    { change: { receivable_value: '750', left_value: '250' } }
  ])
})
