import { randomBytes, randomUUID } from 'node:crypto'
import { operators } from '@open-payments-server/proto'
import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type OperatedWorld, refusalOf, startOperatedWorld, type TestOperator } from './support/operators.js'
import { createPeers, PEER_SETTINGS, type TestPeers } from './support/paying-peer.js'
import { ALICE } from './support/payment-world.js'

/** A rule about everybody. */
const ALL = { aboveValue: '1000', walletAddress: '', client: '', firstPayee: false, method: '' }

let world: OperatedWorld
let peers: TestPeers
/** Holds an account in each test. */
let olga: TestOperator
let otto: TestOperator
let tom: TestOperator
let tina: TestOperator

beforeAll(async () => {
  world = await startOperatedWorld({
    ...PEER_SETTINGS,
    APPROVAL_TIMEOUT_SECONDS: '86400'
  })
  peers = createPeers(world)
  olga = await world.signIn('olga', ['operator'])
  otto = await world.signIn('otto', ['operator'])
  tom = await world.signIn('tom', ['approver'])
  tina = await world.signIn('tina', ['approver'])
})
afterAll(async () => {
  peers.close()
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

/** Lets somebody hold an account while something is done. */
async function holding(accountName: string, sub: string, work: () => Promise<void>): Promise<void> {
  const set = (holder: { issuer: string; sub: string } | undefined) =>
    world.operate('setAccountHolder', { accountName, holder })
  await set({ issuer: world.issuer.issuer, sub })
  await work()
  await set(undefined)
}

it('nobody makes or deletes rules about payments from an account that they hold, nor those about everybody', async () => {
  for (const rule of [{ ...ALL, walletAddress: ALICE }, ALL]) {
    const made = await otto.wallets('createApprovalRule', rule)
    const ruleId = made.rule?.id ?? ''
    await holding('alice', 'olga-7', async () => {
      expect(await refusalOf(olga.wallets('deleteApprovalRule', { ruleId }))).toBe(
        'PERMISSION_DENIED rule_id'
      )
      expect(await refusalOf(olga.wallets('createApprovalRule', rule))).toBe(
        'PERMISSION_DENIED wallet_address'
      )
      const { rules } = await otto.wallets('listApprovalRules', {})
      expect(rules.map(({ id }) => id)).toEqual([ruleId])
      const filter = { operator: olga.key, subject: '', pageSize: 2, pageToken: '' }
      const { actions } = await otto.actions('listOperatorActions', {
        ...filter,
        fromTime: undefined,
        toTime: undefined
      })
      expect(actions.map(({ outcome }) => outcome)).toEqual([
        operators.ActionOutcome.ACTION_OUTCOME_REFUSED,
        operators.ActionOutcome.ACTION_OUTCOME_REFUSED
      ])
    })
    await holding('bob', 'olga-7', async () => {
      // About alice's account alone is not their matter.
      if (rule.walletAddress === ALICE) await olga.wallets('deleteApprovalRule', { ruleId })
      else await otto.wallets('deleteApprovalRule', { ruleId })
    })
  }
  expect(await refusalOf(olga.wallets('deleteApprovalRule', { ruleId: 'none' }))).toBe(
    'INVALID_ARGUMENT rule_id'
  )
})

it('nobody approves a payment to an account that they hold', async () => {
  const { rule } = await otto.wallets('createApprovalRule', { ...ALL, aboveValue: '0' })
  const receiver = await world.createReceiver()
  await holding('bob', 'tom-7', async () => {
    const paid = await world.pay(receiver, 100n, { metadata: { request: randomUUID() } })
    const outgoingPayment = paid.textAt('id')
    const approve = (who: TestOperator) => who.wallets('approvePayment', { outgoingPayment, reason: '' })
    expect(await refusalOf(approve(tom))).toBe('PERMISSION_DENIED outgoing_payment')
    await approve(tina)
    await world.whenEnded(outgoingPayment)
  })
  await otto.wallets('deleteApprovalRule', { ruleId: rule?.id ?? '' })
})

it('whoever holds an account is known by their `sub` at the client where they act, and by the claim', async () => {
  const elsewhere = await world.signIn('olga', ['operator'], 'command-line')
  const withdraw = () =>
    elsewhere.wallets('withdraw', { accountName: 'alice', value: '1', withdrawalId: randomUUID() })
  for (const sub of ['olga-7', 'olga-at-command-line'])
    await holding('alice', sub, async () => {
      expect(await refusalOf(withdraw())).toBe('PERMISSION_DENIED account_name')
    })
  await withdraw()
})

it('nobody makes a wallet address on an account that they hold, nor adds a key to one: freezes and rules stay in force', async () => {
  const { kid, x } = createTestKey('own').jwk
  await otto.wallets('freezeWalletAddress', { walletAddress: ALICE, reason: 'court order' })
  await holding('alice', 'olga-7', async () => {
    const free = olga.wallets('unfreezeWalletAddress', { walletAddress: ALICE, reason: '' })
    expect(await refusalOf(free)).toBe('PERMISSION_DENIED wallet_address')
    const further = { path: '/alice-again', publicName: '', accountName: 'alice' }
    expect(await refusalOf(olga.wallets('createWalletAddress', further))).toBe(
      'PERMISSION_DENIED account_name'
    )
    const key = { walletAddress: ALICE, kid, x }
    expect(await refusalOf(olga.wallets('addClientKey', key))).toBe('PERMISSION_DENIED wallet_address')
    await otto.wallets('addClientKey', key)
    // It protects: whose it is does not matter.
    await olga.wallets('revokeClientKey', { walletAddress: ALICE, kid })
    await otto.wallets('createWalletAddress', further)
  })
  await otto.wallets('unfreezeWalletAddress', { walletAddress: ALICE, reason: '' })
})

it('nobody accepts a payment of their own that no grant counts', async () => {
  const paid = await world.pay(await world.createReceiver(), 100n, { metadata: { request: randomUUID() } })
  const outgoingPayment = paid.textAt('id')
  await world.whenEnded(outgoingPayment)
  const order = { paymentIds: [outgoingPayment.slice(-36)], reason: 'the grant is lost' }
  await holding('alice', 'tom-7', async () => {
    expect(await refusalOf(tom.wallets('acceptUncountedPayments', order))).toBe(
      'PERMISSION_DENIED payment_ids'
    )
    // Its grant counts it: whoever else may finds nothing to accept.
    expect(await tina.wallets('acceptUncountedPayments', order)).toEqual({ paymentIds: [] })
  })
})

it.each<[string, (id: string) => string[]]>([
  ['more often than there may be payments', (id) => Array<string>(101).fill(id)],
  ['beside one that there is not', (id) => [randomUUID(), id]]
])('nobody accepts a payment of their own by naming it %s', async (_how, naming) => {
  const paid = await world.pay(await world.createReceiver(), 100n, { metadata: { request: randomUUID() } })
  const outgoingPayment = paid.textAt('id')
  await world.whenEnded(outgoingPayment)
  const order = { paymentIds: naming(outgoingPayment.slice(-36)), reason: 'the grant is lost' }
  await holding('alice', 'tom-7', async () => {
    expect(await refusalOf(tom.wallets('acceptUncountedPayments', order))).toBe(
      'PERMISSION_DENIED payment_ids'
    )
  })
})

it.each([
  ['that awaits a decision', -3_600_000, /^FAILED_PRECONDITION/],
  ['that nobody can decide about yet', 3_600_000, /^NOT_FOUND condition/]
])('nobody decides what became of a packet of their own payment %s', async (_which, afterMs, refusal) => {
  const { name } = await peers.create({})
  const paid = await world.pay(await world.createReceiver(), 100n, { metadata: { request: randomUUID() } })
  const outgoingPayment = paid.textAt('id')
  await world.whenEnded(outgoingPayment)
  const condition = randomBytes(32)
  const expiresAt = new Date(world.clock.now() + afterMs)
  await world.database.query(
    `insert into sent_packet (id, payment_id, peer_id, sequence, condition, send_value, deliver_min_value, sent_at, expires_at)
     select $1, $2, id, 1, $3, 1, 1, $4, $4 from peer where name = $5`,
    [randomUUID(), outgoingPayment.slice(-36), condition, expiresAt, name]
  )
  const decision = { name, condition: condition.toString('base64url'), arrived: false, arrivedValue: '' }
  await holding('alice', 'olga-7', async () => {
    expect(await refusalOf(olga.peers('decidePacket', decision))).toBe('PERMISSION_DENIED condition')
    // Whoever else may, as far as its payment goes: this one is not being sent any more.
    expect(await refusalOf(otto.peers('decidePacket', decision))).toMatch(refusal)
  })
  await world.database.query('delete from sent_packet where condition = $1', [condition])
})
