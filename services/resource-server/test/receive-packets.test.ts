import { randomBytes, randomUUID } from 'node:crypto'
import { decodePrepare, encodePrepare } from '@open-payments-server/interledger'
import { wallet } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  catchPacket,
  codeOf,
  createPeers,
  PEER_SETTINGS,
  type PayingPeer,
  type TestPeers
} from './support/paying-peer.js'
import {
  BOB,
  CAROL,
  eur,
  type PaymentWorld,
  PUBLIC_URL,
  startPaymentWorld,
  usd
} from './support/payment-world.js'

/** The largest amount of a packet, as of everything else: 2^64 − 1. */
const AMOUNT_MAX = 18_446_744_073_709_551_615n

let world: PaymentWorld
let peers: TestPeers

beforeAll(async () => {
  world = await startPaymentWorld({
    settings: { ...PEER_SETTINGS, EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1' }
  })
  peers = createPeers(world)
})
afterAll(async () => {
  expect(await world.audit()).toEqual([])
  peers.close()
  await world.stop()
})

const read = (receiver: string) => world.request('GET', receiver.slice(PUBLIC_URL.length))
const owedBy = (peer: PayingPeer) => peers.owedBy(peer)
const destination = async (receiver: string) => peers.destinationOf((await read(receiver)).at('methods'))
/** A packet that pays a payment, caught before it is posted. */
const packetTo = async (peer: PayingPeer, receiver: string, value: bigint) =>
  catchPacket(peer, await destination(receiver), value)

describe('a payment of a peer', () => {
  it('arrives to the unit, and the peer owes it', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver({ incomingAmount: usd(5_000) })
    const before = await world.available('bob')
    const { end, progress } = await peer.pay(await destination(receiver), 5_000n)
    expect(end).toEqual({ outcome: 'complete' })
    expect(progress).toMatchObject({ sentValue: 5_000n, deliveredValue: 5_000n })
    const payment = await read(receiver)
    expect(payment.body).toMatchObject({ receivedAmount: usd(5_000), completed: true, methods: [] })
    expect(await world.available('bob')).toBe(before + 5_000n)
    expect(await owedBy(peer)).toBe('5000')
  })

  it('arrives in another asset at our rate', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver({ walletAddress: CAROL })
    await peer.pay(await destination(receiver), 1_000n, 900n)
    expect((await read(receiver)).at('receivedAmount')).toEqual(eur(900))
    expect(await owedBy(peer)).toBe('1000')
  })

  it('fills what asked for an amount that no packet is worth exactly', async () => {
    const peer = await peers.create({ asset: { code: 'EUR', scale: 2 } })
    const receiver = await world.createReceiver({ incomingAmount: usd(100) })
    // 91 of theirs are worth 100.1 of ours.
    const { end } = await peer.pay(await destination(receiver), 91n, 100n)
    expect(end.outcome).toBe('complete')
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(100), completed: true })
  })

  it('and payments from here that race it never bring more than was asked for', async () => {
    const peer = await peers.create({ packetLimitValue: '70' })
    const receiver = await world.createReceiver({ incomingAmount: usd(1_000) })
    const to = await destination(receiver)
    const before = await world.available('bob')
    const local = Array.from({ length: 6 }, () => world.pay(receiver, 120))
    const remote = Array.from({ length: 4 }, () => peer.pay(to, 300n, 300n, { packetLimitValue: 70n }))
    const answers = await Promise.all(local)
    // Some may come when the others have completed it.
    const created = answers.filter(({ status }) => status !== 400)
    const ended = await Promise.all(created.map((answer) => world.whenEnded(answer.textAt('id'))))
    const results = await Promise.all(remote)
    const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)
    const sentFromHere = sum(ended.map((answer) => BigInt(answer.textAt('sentAmount.value'))))
    const sentFromThere = sum(results.map(({ progress }) => progress.deliveredValue))
    expect(sentFromHere + sentFromThere).toBe(1_000n)
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(1_000), completed: true })
    expect(await world.available('bob')).toBe(before + 1_000n)
    expect(await owedBy(peer)).toBe(String(sentFromThere))
  })
})

describe('a packet', () => {
  it('that comes again, also at once, is credited once and fulfilled each time', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packet = await packetTo(peer, receiver, 10n)
    const answers = await Promise.all(Array.from({ length: 20 }, () => peer.post(packet)))
    expect(new Set(answers.map(codeOf))).toEqual(new Set(['fulfill']))
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(10))
    expect(await owedBy(peer)).toBe('10')
  })

  it('that comes again after its payment is over is fulfilled again, and another is not', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const [packet, late] = [await packetTo(peer, receiver, 10n), await packetTo(peer, receiver, 11n)]
    await peer.post(packet)
    await world.request('POST', `${receiver.slice(PUBLIC_URL.length)}/complete`)
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
    expect(codeOf(await peer.post(late))).toBe('F99')
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(10))
  })

  it('that another peer sends again is not fulfilled for it, however late', async () => {
    const [peer, thief] = [await peers.create(), await peers.create()]
    const receiver = await world.createReceiver()
    const packet = await packetTo(peer, receiver, 10n)
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
    expect(codeOf(await thief.post(packet))).toBe('F99')
    world.clock.advanceSeconds(60)
    expect(codeOf(await thief.post(packet))).toBe('R02')
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
    expect([await owedBy(peer), await owedBy(thief)]).toEqual(['10', '0'])
  })

  it('that expires in a year is credited once, and fulfilled again until its payment is deleted', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packet = encodePrepare({
      ...decodePrepare(await packetTo(peer, receiver, 5n)),
      expiresAtMs: world.clock.now() + 365 * 86_400_000
    })
    const answers = await Promise.all([peer.post(packet), peer.post(packet)])
    expect(answers.map(codeOf)).toEqual(['fulfill', 'fulfill'])
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(5))
    expect(await owedBy(peer)).toBe('5')
  })

  it('is refused once it has expired, or its payment has', async () => {
    const peer = await peers.create()
    const expired = await world.createReceiver({
      expiresAt: new Date(world.clock.now() + 60_000).toISOString()
    })
    const [packet, ofExpired] = [
      await packetTo(peer, await world.createReceiver(), 5n),
      await packetTo(peer, expired, 5n)
    ]
    const fresh = encodePrepare({ ...decodePrepare(ofExpired), expiresAtMs: world.clock.now() + 90_000 })
    world.clock.advanceSeconds(61)
    expect(codeOf(await peer.post(packet))).toBe('R02')
    expect(codeOf(await peer.post(fresh))).toBe('F99')
    expect(await owedBy(peer)).toBe('0')
  })

  it('above what its peer may owe is refused for now, until the peer settles', async () => {
    const peer = await peers.create({ receivableLimitValue: '100', lowAlertValue: '30' })
    const receiver = await world.createReceiver()
    expect(codeOf(await peer.post(await packetTo(peer, receiver, 80n)))).toBe('fulfill')
    const [packet, another] = [await packetTo(peer, receiver, 21n), await packetTo(peer, receiver, 20n)]
    expect(codeOf(await peer.post(packet))).toBe('T04')
    expect(codeOf(await peer.post(another))).toBe('fulfill')
    expect(await owedBy(peer)).toBe('100')
    const { peer: settled } = await peers.operate('settlePeer', {
      name: peer.name,
      direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED,
      value: '60',
      reference: 'bank 4711',
      key: `key-${peer.name}`
    })
    expect(settled).toMatchObject({ receivableValue: '40' })
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
  })

  it('and others that race never take a peer above what it may owe', async () => {
    const peer = await peers.create({ receivableLimitValue: '100' })
    const receivers = await Promise.all(Array.from({ length: 5 }, () => world.createReceiver()))
    const packets = await Promise.all(
      Array.from({ length: 30 }, (_, index) => packetTo(peer, receivers[index % 5] ?? '', 7n))
    )
    const answers = await Promise.all(packets.map((packet) => peer.post(packet)))
    expect(answers.filter((answer) => codeOf(answer) === 'fulfill')).toHaveLength(14)
    expect(answers.filter((answer) => codeOf(answer) === 'T04')).toHaveLength(16)
    expect(await owedBy(peer)).toBe('98')
  })

  it('above the packet limit of its peer is told the limit', async () => {
    const peer = await peers.create({ packetLimitValue: '50' })
    const packet = await packetTo(peer, await world.createReceiver(), 51n)
    const { reply } = await peer.post(packet)
    expect(reply).toMatchObject({ type: 'reject', code: 'F08' })
    expect(reply?.data.readBigUInt64BE(8)).toBe(50n)
  })

  it('to a frozen wallet address is refused for now', async () => {
    const peer = await peers.create()
    const packet = await packetTo(peer, await world.createReceiver(), 5n)
    await world.operate('freezeWalletAddress', { walletAddress: BOB, reason: 'test' })
    expect(codeOf(await peer.post(packet))).toBe('T00')
    await world.operate('unfreezeWalletAddress', { walletAddress: BOB, reason: 'test' })
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
  })

  it('to a payment that is over is refused for good, though its wallet address is frozen', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver({ incomingAmount: usd(5) })
    const [all, more] = [await packetTo(peer, receiver, 5n), await packetTo(peer, receiver, 1n)]
    expect(codeOf(await peer.post(all))).toBe('fulfill')
    await world.operate('freezeWalletAddress', { walletAddress: BOB, reason: 'test' })
    expect(codeOf(await peer.post(more))).toBe('F99')
    await world.operate('unfreezeWalletAddress', { walletAddress: BOB, reason: 'test' })
  })

  it('beyond 250 of its peer at a time is refused for now, unless it was credited before', async () => {
    const peer = await peers.create()
    const credited = await packetTo(peer, await world.createReceiver(), 7n)
    expect(codeOf(await peer.post(credited))).toBe('fulfill')
    const receiver = await world.createReceiver()
    const packet = await packetTo(peer, receiver, 5n)
    const { waiting } = await world.database.inTransaction(async (query) => {
      await query('select from incoming_payment where id = $1 for no key update', [receiver.slice(-36)])
      const posted = Array.from({ length: 251 }, () => peer.post(packet))
      expect(codeOf(await Promise.race(posted))).toBe('T03')
      expect(codeOf(await peer.post(credited))).toBe('fulfill')
      return { waiting: Promise.all(posted) }
    })
    const codes = (await waiting).map(codeOf)
    expect(codes.filter((code) => code !== 'fulfill')).toEqual(['T03'])
    expect(await owedBy(peer)).toBe('12')
  })

  it('of the largest amount is credited to the unit, and its payment takes no unit more', async () => {
    const peer = await peers.create()
    const [receiver, another] = [await world.createReceiver(), await world.createReceiver()]
    const before = await world.available('bob')
    const largest = await packetTo(peer, receiver, AMOUNT_MAX)
    const [more, other] = [await packetTo(peer, receiver, 1n), await packetTo(peer, another, AMOUNT_MAX)]
    expect(codeOf(await peer.post(largest))).toBe('fulfill')
    expect(codeOf(await peer.post(more))).toBe('F99')
    expect(codeOf(await peer.post(largest))).toBe('fulfill')
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(AMOUNT_MAX))
    // What an account has, and what a peer owes, may be more than any amount.
    expect(codeOf(await peer.post(other))).toBe('fulfill')
    expect(await world.available('bob')).toBe(before + 2n * AMOUNT_MAX)
    expect(await owedBy(peer)).toBe(String(2n * AMOUNT_MAX))
  })

  it('of amount 0 brings its payment nothing, and is not fulfilled for a sender that wants something', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packet = decodePrepare(await packetTo(peer, receiver, 1n))
    expect(codeOf(await peer.post(encodePrepare({ ...packet, amount: 0n })))).toBe('F99')
    expect((await read(receiver)).body).toMatchObject({ receivedAmount: usd(0), completed: false })
    expect(await owedBy(peer)).toBe('0')
  })

  it('to nobody is refused', async () => {
    const peer = await peers.create()
    const packet = decodePrepare(await packetTo(peer, await world.createReceiver(), 5n))
    const to = (address: string) => peer.post(encodePrepare({ ...packet, destination: address }))
    expect(codeOf(await to('test.elsewhere.bob'))).toBe('F02')
    expect(codeOf(await to('test.wallet.nobody'))).toBe('F06')
    const unreadable = encodePrepare({ ...packet, data: randomBytes(100) })
    expect(codeOf(await peer.post(unreadable))).toBe('F06')
  })
})

describe('whoever is no peer, or sends no packet,', () => {
  it.each([
    ['a token of nobody', { authorization: 'Bearer nobody-has-this-token' }],
    ['no token', { authorization: '' }],
    ['another scheme', { authorization: 'Basic bm9ib2R5Om5vYm9keQ==' }]
  ])('is refused with %s', async (_what, headers) => {
    const peer = await peers.create()
    expect((await peer.post(Buffer.from('x'), headers)).status).toBe(401)
  })

  it.each([
    ['nothing', Buffer.alloc(0), {}, 400],
    ['what is no packet', randomBytes(200), {}, 400],
    ['a fulfill', Buffer.from([13, 33, ...randomBytes(33)]), {}, 400],
    ['another type', randomBytes(200), { 'content-type': 'application/json' }, 400],
    ['a megabyte', Buffer.alloc(1_048_576), {}, 413]
  ])('is refused with %s', async (_what, bytes, headers, status) => {
    const peer = await peers.create()
    expect((await peer.post(bytes, headers)).status).toBe(status)
    expect(await owedBy(peer)).toBe('0')
  })

  it('is refused once its token was replaced', async () => {
    const peer = await peers.create()
    const rotate = (incomingToken: string, overlapSeconds: number) =>
      peers.operate('rotatePeerToken', { name: peer.name, incomingToken, overlapSeconds })
    const { peer: rotated } = await rotate('the-token-after-the-first', 60)
    expect(rotated?.incomingTokens).toHaveLength(2)
    const packet = await packetTo(peer, await world.createReceiver(), 5n)
    expect(codeOf(await peer.post(packet))).toBe('fulfill')
    world.clock.advanceSeconds(61)
    expect((await peer.post(packet)).status).toBe(401)
  })

  it('is refused at once with a token that ended while it was remembered, and with all that it sends then', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const [first, second] = [await packetTo(peer, receiver, 5n), await packetTo(peer, receiver, 7n)]
    expect(codeOf(await peer.post(first))).toBe('fulfill')
    await peers.operate('rotatePeerToken', {
      name: peer.name,
      incomingToken: randomUUID(),
      overlapSeconds: 0
    })
    // Also together with others, and with what was credited before.
    const answers = await Promise.all([second, first, second].map((packet) => peer.post(packet)))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
    expect((await read(receiver)).at('receivedAmount')).toEqual(usd(5))
    expect(await owedBy(peer)).toBe('5')
    // What brings nothing is answered by what is remembered of the token, and that was forgotten.
    const probe = encodePrepare({ ...decodePrepare(second), amount: 0n })
    expect((await peer.post(probe)).status).toBe(401)
  })

  it('is taken with both tokens while they overlap, and refused with the first from its end on', async () => {
    const peer = await peers.create()
    const receiver = await world.createReceiver()
    const packets = await Promise.all([1n, 2n, 3n, 4n].map((value) => packetTo(peer, receiver, value)))
    const incomingToken = randomUUID()
    const other = { authorization: `Bearer ${incomingToken}` }
    const post = (which: number, headers = {}) => peer.post(packets[which] ?? Buffer.alloc(0), headers)
    expect(codeOf(await post(0))).toBe('fulfill')
    await peers.operate('rotatePeerToken', { name: peer.name, incomingToken, overlapSeconds: 4 })
    const both = await Promise.all([post(1), post(2, other)])
    expect(both.map(codeOf)).toEqual(['fulfill', 'fulfill'])
    // Less than it is remembered.
    world.clock.advanceSeconds(4)
    expect((await post(3)).status).toBe(401)
    expect(codeOf(await post(3, other))).toBe('fulfill')
    expect(await owedBy(peer)).toBe('10')
  })
})
