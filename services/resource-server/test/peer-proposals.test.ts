import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type OtherProvider, startOtherProvider } from './support/other-provider.js'
import {
  type OperatedWorld,
  proposalOf,
  refusalOf,
  startOperatedWorld,
  type TestOperator
} from './support/operators.js'
import { newPeer, PEER_SETTINGS } from './support/paying-peer.js'
import { usd } from './support/payment-world.js'
import { type ReceivingPeer, startReceivingPeer } from './support/receiving-peer.js'

const USD = { code: 'USD', scale: 2 }
/** 20,000.00: at the amount from which a second person is needed, and below it. */
const [MUCH, LITTLE] = [2_000_000n, 1_999_999n]
const POLL_MS = 20

const key = createTestKey('provider')
let world: OperatedWorld
let peer: ReceivingPeer
let provider: OtherProvider
let olga: TestOperator
let tom: TestOperator

const BANK = { ...newPeer(), name: 'bank', ilpAddress: 'test.other', payableLimitValue: String(LITTLE) }
const { name } = BANK
const update = (change: object) => olga.peers('updatePeer', { name, routes: undefined, ...change })
const approve = (proposalId: string) => tom.actions('approveProposal', { proposalId, reason: 'seen' })
const reject = (proposalId: string) => tom.actions('rejectProposal', { proposalId, reason: 'not seen' })
const payableValue = async () => BigInt((await olga.peers('getPeer', { name })).peer?.payableValue ?? '')

beforeAll(async () => {
  const jwk = { ...key.privateKey.export({ format: 'jwk' }), kid: key.keyId }
  world = await startOperatedWorld({
    ...PEER_SETTINGS,
    PROVIDER_KEYS: JSON.stringify({ keys: [jwk] }),
    OPERATOR_SECOND_PERSON_FROM: '20000.00 USD, 20000.00 EUR'
  })
  olga = await world.signIn('olga', ['operator', 'approver'])
  tom = await world.signIn('tom', ['approver'])
  peer = await startReceivingPeer(world.clock)
  provider = await startOtherProvider(exportEd25519Jwk(key.privateKey, key.keyId), world.clock)
  await olga.peers('createPeer', {
    ...BANK,
    endpoint: peer.endpoint,
    routes: [],
    receivableLimitValue: String(LITTLE)
  })
  // Each below the amount.
  for (let deposit = 0; deposit < 10; deposit += 1)
    await olga.wallets('deposit', {
      depositId: randomUUID(),
      accountName: 'alice',
      value: String(LITTLE)
    })
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await Promise.all([peer.stop(), provider.stop()])
  await world.stop()
})

describe('what a peer may be owed', () => {
  it('is raised to the amount, or without end, by two', async () => {
    for (const payableLimitValue of [String(MUCH), '']) {
      const id = await proposalOf(update({ payableLimitValue }))
      expect(await refusalOf(olga.actions('approveProposal', { proposalId: id, reason: '' }))).toBe(
        'PERMISSION_DENIED proposal_id'
      )
      await approve(id)
      expect((await olga.peers('getPeer', { name })).peer?.payableLimitValue).toBe(payableLimitValue)
    }
  })

  it('is lowered by one, as is what it may owe', async () => {
    await update({ payableLimitValue: '5000000' })
    await approve(await proposalOf(update({ receivableLimitValue: '' })))
    await update({ receivableLimitValue: '5000000', payableLimitValue: '4000000' })
    await approve(await proposalOf(update({ receivableLimitValue: '4000000', payableLimitValue: '5000000' })))
  })
})

describe('where payments go', () => {
  it.each([
    ['the endpoint', { endpoint: 'http://127.0.0.1:9/elsewhere' }],
    ['the address', { ilpAddress: 'test.elsewhere' }],
    ['the routes', { routes: { addresses: ['test.further'] } }]
  ])('is changed by two: %s', async (_what, change) => {
    const before = (await olga.peers('getPeer', { name })).peer
    await reject(await proposalOf(update(change)))
    expect((await olga.peers('getPeer', { name })).peer).toEqual(before)
    // What stays as it is needs nobody, whatever else is changed beside it.
    await update({
      endpoint: before?.endpoint,
      ilpAddress: before?.ilpAddress,
      routes: { addresses: before?.routes },
      lowAlertValue: String(Math.floor(Math.random() * 1_000))
    })
  })

  it('is not changed in one call with a token, which a second person must not learn', async () => {
    const change = { endpoint: 'http://127.0.0.1:9/elsewhere', outgoingToken: 'a-token-for-their-eyes-alone' }
    expect(await refusalOf(update(change))).toBe(
      'FAILED_PRECONDITION This needs a second person, who must not learn the secret in it: replace the token in a call of its own'
    )
  })
})

describe('a new peer', () => {
  const small = {
    ...newPeer(),
    name: 'new-bank',
    ilpAddress: 'test.new',
    routes: [],
    receivableLimitValue: String(LITTLE),
    payableLimitValue: String(LITTLE)
  }

  it.each([
    ['may be owed much', { payableLimitValue: String(MUCH) }],
    ['may be owed any amount', { payableLimitValue: '' }],
    ['may owe much', { receivableLimitValue: String(MUCH) }],
    ['may owe any amount', { receivableLimitValue: '' }],
    ['has routes', { routes: ['test.further'] }],
    // Payments to that provider's receivers would go to the new one.
    ['has the address of another peer', { ilpAddress: 'test.other' }],
    ['has an address below that of another peer', { ilpAddress: 'test.other.spsp' }]
  ])('is not made by one where it %s, and the refusal says how it is', async (_what, change) => {
    expect(await refusalOf(olga.peers('createPeer', { ...small, ...change }))).toMatch(
      /^FAILED_PRECONDITION This needs a second person, .*: create it without routes, .* with limits .* below the amount/
    )
    expect(await refusalOf(olga.peers('getPeer', { name: small.name }))).toBe('NOT_FOUND name')
  })

  it('is made by one without, and gets them by two', async () => {
    await olga.peers('createPeer', small)
    const routes = { addresses: ['test.further'] }
    const change = { name: small.name, routes, payableLimitValue: '' }
    const { proposal } = await approve(await proposalOf(olga.peers('updatePeer', change)))
    expect(JSON.parse(proposal?.before ?? '')).toMatchObject({
      routes: [],
      payableLimitValue: String(LITTLE)
    })
    expect((await olga.peers('getPeer', { name: small.name })).peer).toMatchObject({
      routes: routes.addresses,
      payableLimitValue: ''
    })
  })
})

interface LostPacket {
  readonly condition: string
  /** What the peer fulfilled it with, in base64url. */
  readonly fulfillment: string
  readonly outgoingPayment: string
}

/** Pays to the other provider, which takes the money and does not say so. */
async function loseAnswer(value: bigint): Promise<LostPacket> {
  provider.payment = {
    ...provider.payment,
    completed: false,
    expiresAt: '2099-04-12T23:20:50.520Z',
    incomingAmount: undefined,
    receivedAmount: usd(0),
    methods: [peer.methodOf(randomUUID(), USD)]
  }
  let fulfillment = ''
  peer.handle = async (_prepare, answer, response) => {
    const reply = await answer()
    if (reply.type === 'reject') return reply
    fulfillment = reply.fulfillment.toString('base64url')
    response.destroy()
    return undefined
  }
  const created = await world.pay(provider.url, value, { metadata: { request: randomUUID() } })
  const outgoingPayment = created.textAt('id')
  const unknown = `
    select condition from sent_packet p join sending s using (payment_id)
     where payment_id = $1 and outcome = 'unknown' and due_at is null`
  for (;;) {
    const values = [outgoingPayment.slice(-36)]
    const [row] = await world.database.query<{ condition: Buffer }>(unknown, values)
    if (row !== undefined) {
      const expire = `update sent_packet set expires_at = expires_at - interval '5 minutes' where payment_id = $1`
      await world.database.query(expire, values)
      peer.handle = undefined
      return { condition: row.condition.toString('base64url'), fulfillment, outgoingPayment }
    }
    await delay(POLL_MS)
  }
}

const decide = (condition: string, arrived: boolean, arrivedValue = '', fulfillment?: string) =>
  olga.peers('decidePacket', { name, condition, arrived, arrivedValue, fulfillment })

describe('a packet of which nothing is known', () => {
  beforeAll(async () => {
    const { payableLimitValue } = (await olga.peers('getPeer', { name })).peer ?? {}
    if (payableLimitValue !== '') await approve(await proposalOf(update({ payableLimitValue: '' })))
  })

  it.each([
    ['was lost', false],
    ['arrived', true]
  ])('%s, as two say, who see what it moves', async (_what, arrived) => {
    const owed = await payableValue()
    const { condition, outgoingPayment } = await loseAnswer(MUCH)
    const id = await proposalOf(decide(condition, arrived))
    const { proposal } = await tom.actions('getProposal', { proposalId: id })
    const packet = { value: String(MUCH), payment: outgoingPayment, standsForLost: false }
    expect(JSON.parse(proposal?.before ?? '')).toMatchObject({ packet: { ...packet, outcome: 'unknown' } })
    const outcome = arrived ? 'fulfilled' : 'rejected'
    expect(JSON.parse(proposal?.after ?? '')).toMatchObject({ packet: { ...packet, outcome } })
    const { packets } = await olga.peers('listUnknownPackets', { name, pageSize: 0, pageToken: '' })
    expect(packets.map((each) => each.condition)).toEqual([condition])
    expect(await payableValue()).toBe(owed)
    await approve(id)
    await world.whenEnded(outgoingPayment)
    expect(await payableValue()).toBe(owed + MUCH)
  })

  it('is decided by one below the amount', async () => {
    const { condition, outgoingPayment } = await loseAnswer(LITTLE)
    await decide(condition, false)
    await world.whenEnded(outgoingPayment)
  })

  it('arrived, as its fulfillment proves, which needs no second person and is kept', async () => {
    const owed = await payableValue()
    const { condition, fulfillment, outgoingPayment } = await loseAnswer(MUCH)
    await decide(condition, true, '', fulfillment)
    await world.whenEnded(outgoingPayment)
    expect(await payableValue()).toBe(owed + MUCH)
    const kept = await world.database.query(
      `select encode(fulfillment, 'hex') as fulfillment, outcome, decided_by is not null as is_decided
         from sent_packet where payment_id = $1 and outcome <> 'rejected'`,
      [outgoingPayment.slice(-36)]
    )
    const hex = Buffer.from(fulfillment, 'base64url').toString('hex')
    expect(kept).toEqual([{ fulfillment: hex, outcome: 'fulfilled', is_decided: true }])
  })

  it('is not decided by what proves nothing about it', async () => {
    const { condition, fulfillment, outgoingPayment } = await loseAnswer(LITTLE)
    const doubt = `update sent_packet set is_stand_in = true where payment_id = $1 and outcome = 'unknown'`
    await world.database.query(doubt, [outgoingPayment.slice(-36)])
    const listed = await olga.peers('listUnknownPackets', { name, pageSize: 0, pageToken: '' })
    for (const [arrived, arrivedValue, proof, field] of [
      [true, '', condition, 'fulfillment'],
      [true, '', '', 'fulfillment'],
      [true, '', `${fulfillment}AA`, 'fulfillment'],
      [false, '', fulfillment, 'fulfillment'],
      [true, '1', fulfillment, 'arrived_value']
    ] as const)
      expect(await refusalOf(decide(condition, arrived, arrivedValue, proof))).toBe(
        `INVALID_ARGUMENT ${field}`
      )
    expect(await olga.peers('listUnknownPackets', { name, pageSize: 0, pageToken: '' })).toEqual(listed)
    await decide(condition, true, '', fulfillment)
    await world.whenEnded(outgoingPayment)
  })

  it('counts with all that it stands for, also where one says that a part arrived', async () => {
    const { condition, outgoingPayment } = await loseAnswer(MUCH)
    const first = await proposalOf(decide(condition, false))
    const doubt = `update sent_packet set is_stand_in = true where payment_id = $1 and outcome = 'unknown'`
    await world.database.query(doubt, [outgoingPayment.slice(-36)])
    // It no longer is what the proposal shows.
    expect(await refusalOf(approve(first))).toBe('FAILED_PRECONDITION proposal_id')
    await reject(first)
    await approve(await proposalOf(decide(condition, true, '1')))
    await world.whenEnded(outgoingPayment)
  })
})
