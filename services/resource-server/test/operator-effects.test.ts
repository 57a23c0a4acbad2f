import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isRpcError, status } from '@open-payments-server/grpc-transport'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import { wallet } from '@open-payments-server/proto'
import { createTestKey, type TestQuery, whenLocked } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WALLET_ACTS } from '../src/grpc/operator/acts.js'
import { PEER_ACTS } from '../src/grpc/operator/peer-acts.js'
import { OPERATOR_ROLES } from '../src/grpc/operator/roles.js'
import { type OtherProvider, startOtherProvider } from './support/other-provider.js'
import { newPeer, PEER_SETTINGS } from './support/paying-peer.js'
import { PUBLIC_URL, usd } from './support/payment-world.js'
import { type OperatedWorld, startOperatedWorld, type TestOperator } from './support/operators.js'
import { type ReceivingPeer, startReceivingPeer } from './support/receiving-peer.js'

const USD = { code: 'USD', scale: 2 }
const DORA = `${PUBLIC_URL}/dora`
const HOLDER = { issuer: 'https://login.test', sub: 'dora-7' }
const { SETTLEMENT_DIRECTION_RECEIVED } = wallet.SettlementDirection
/** All that can wait for a second person and is not needed to begin with. */
const WAITING = [
  ...['SetAccountHolder', 'UnfreezeAccount', 'UnfreezeWalletAddress', 'Withdraw', 'ApprovePayment'],
  ...['DeleteApprovalRule', 'CreateRefund', 'SettlePeer', 'DecidePacket', 'UpdatePeer'],
  ...['UpdateWebhookEndpoint', 'DisableWebhookEndpoint', 'DeleteWebhookEndpoint', 'ReplayWebhooks']
]

const key = createTestKey('provider')
let world: OperatedWorld
let peer: ReceivingPeer
let provider: OtherProvider
let olga: TestOperator
let tom: TestOperator
/** The condition of a packet of which nothing is known. */
let condition: string

/** The peer that payments go to, and one that is created beside it. */
const [BANK, OTHER_BANK] = [
  { ...newPeer(), name: 'bank', ilpAddress: 'test.other' },
  { ...newPeer(), name: 'other-bank', ilpAddress: 'test.third' }
]
const [DEPOSIT_ID, WITHDRAWAL_ID, REFUND_KEY] = [randomUUID(), randomUUID(), randomUUID()]
const { kid, x } = createTestKey('dora').jwk
/** What is there before: a payment that awaits approval, another one, what makes them wait, and where events are posted. */
const there = { payment: '', other: '', ruleId: '', endpointId: '' }

beforeAll(async () => {
  const jwk = { ...key.privateKey.export({ format: 'jwk' }), kid: key.keyId }
  world = await startOperatedWorld({
    ...PEER_SETTINGS,
    PROVIDER_KEYS: JSON.stringify({ keys: [jwk] }),
    WEBHOOK_SECRET_KEY: 'kT4v9pQz7mWx2cRb',
    OPERATOR_SECOND_PERSON_FOR: WAITING.join(',')
  })
  olga = await world.signIn('olga', ['operator', 'approver'])
  tom = await world.signIn('tom', ['approver'])
  peer = await startReceivingPeer(world.clock)
  provider = await startOtherProvider(exportEd25519Jwk(key.privateKey, key.keyId), world.clock)
  await olga.peers('createPeer', { ...BANK, endpoint: peer.endpoint })
  condition = await loseAnswer()
  const rule = { aboveValue: '0', walletAddress: '', client: '', firstPayee: false, method: '' }
  there.ruleId = (await olga.wallets('createApprovalRule', rule)).rule?.id ?? ''
  const receiver = await world.createReceiver()
  there.payment = await waitingPayment(receiver)
  there.other = await waitingPayment(receiver)
  there.endpointId = (await createEndpoint()).endpoint?.id ?? ''
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await Promise.all([peer.stop(), provider.stop()])
  await world.stop()
})

const createEndpoint = () =>
  olga.webhooks('createWebhookEndpoint', {
    url: 'http://127.0.0.1:1/',
    types: ['audit.passed'],
    walletAddress: '',
    secret: ''
  })

/** Pays to the other provider, which takes the money and does not say so. */
async function loseAnswer(): Promise<string> {
  const paymentId = randomUUID()
  provider.payment = {
    ...provider.payment,
    completed: false,
    expiresAt: '2099-04-12T23:20:50.520Z',
    incomingAmount: undefined,
    receivedAmount: usd(0),
    methods: [peer.methodOf(paymentId, USD)]
  }
  peer.handle = async (_prepare, answer, response) => {
    const reply = await answer()
    if (reply.type === 'reject') return reply
    response.destroy()
    return undefined
  }
  const created = await world.pay(provider.url, 900)
  const unknown = `
    select condition from sent_packet p join sending s using (payment_id)
     where payment_id = $1 and outcome = 'unknown' and due_at is null`
  for (;;) {
    const [row] = await world.database.query<{ condition: Buffer }>(unknown, [
      created.textAt('id').slice(-36)
    ])
    if (row !== undefined) {
      await world.database.query(`update sent_packet set expires_at = expires_at - interval '5 minutes'`)
      peer.handle = undefined
      return row.condition.toString('base64url')
    }
    await delay(20)
  }
}

/** Creates a payment to bob, all of which await approval; answers its URL. */
async function waitingPayment(receiver: string): Promise<string> {
  return (await world.pay(receiver, 100, { metadata: { request: randomUUID() } })).textAt('id')
}

interface RecordedRow {
  readonly id: string
  readonly outcome: string | null
}

/** Does something, once a second person approved it where one must; answers how each step was recorded. */
async function recorded(method: string, act: () => Promise<unknown>): Promise<string[]> {
  const known = new Set<string>()
  const newRows = async (): Promise<string[]> => {
    const rows = await world.database.query<RecordedRow>(
      'select id, outcome from operator_action where lower(method) like $1',
      [`%/${method.toLowerCase()}`]
    )
    return rows.flatMap(({ id, outcome }) => {
      if (known.has(id)) return []
      known.add(id)
      return [String(outcome)]
    })
  }
  await newRows()
  try {
    await act()
    return await newRows()
  } catch (error) {
    if (!isRpcError(error)) throw error
    const first = await newRows()
    if (error.code !== status.FAILED_PRECONDITION || error.reference === undefined) return first
    await tom.actions('approveProposal', { proposalId: error.reference, reason: 'seen' })
    return [...first, ...(await newRows())]
  }
}

/** An act with the least effect that it can have. */
interface Case {
  readonly act: () => Promise<unknown>
  /** How it is recorded, and how the same call after it. */
  readonly recorded: readonly [first: readonly string[], again: readonly string[]]
}

const [DONE, PROPOSED] = [['done'], ['proposed', 'done']]
/** The second changes nothing. */
const once = (first: readonly string[]) => [first, ['unchanged']] as const
/** The second is not possible. */
const possibleOnce = (first: readonly string[]) => [first, ['refused']] as const
/** Each has an effect of its own. */
const eachTime = (each: readonly string[]) => [each, each] as const
/** It counts as done whatever it did, and never waits. */
const IN_STEPS = 'in steps'

/** All acts, in an order in which they can be done. */
const ACTS: Readonly<Record<string, Case | typeof IN_STEPS>> = {
  createAsset: {
    act: () => olga.wallets('createAsset', { asset: { code: 'JPY', scale: 0 } }),
    recorded: possibleOnce(DONE)
  },
  createAccount: {
    act: () => olga.wallets('createAccount', { name: 'dora', asset: USD }),
    recorded: possibleOnce(DONE)
  },
  setAccountHolder: {
    act: () => olga.wallets('setAccountHolder', { accountName: 'dora', holder: HOLDER }),
    recorded: once(PROPOSED)
  },
  createWalletAddress: {
    act: () => olga.wallets('createWalletAddress', { path: '/dora', publicName: '', accountName: 'dora' }),
    recorded: possibleOnce(DONE)
  },
  freezeAccount: {
    act: () => olga.wallets('freezeAccount', { accountName: 'dora', reason: '' }),
    recorded: once(DONE)
  },
  unfreezeAccount: {
    act: () => olga.wallets('unfreezeAccount', { accountName: 'dora', reason: '' }),
    recorded: once(PROPOSED)
  },
  freezeWalletAddress: {
    act: () => olga.wallets('freezeWalletAddress', { walletAddress: DORA, reason: '' }),
    recorded: once(DONE)
  },
  unfreezeWalletAddress: {
    act: () => olga.wallets('unfreezeWalletAddress', { walletAddress: DORA, reason: '' }),
    recorded: once(PROPOSED)
  },
  deposit: {
    act: () => olga.wallets('deposit', { depositId: DEPOSIT_ID, accountName: 'dora', value: '1' }),
    recorded: once(DONE)
  },
  withdraw: {
    act: () => olga.wallets('withdraw', { withdrawalId: WITHDRAWAL_ID, accountName: 'dora', value: '1' }),
    recorded: once(PROPOSED)
  },
  addClientKey: {
    act: () => olga.wallets('addClientKey', { walletAddress: DORA, kid, x }),
    recorded: possibleOnce(DONE)
  },
  revokeClientKey: {
    act: () => olga.wallets('revokeClientKey', { walletAddress: DORA, kid }),
    recorded: once(DONE)
  },
  approvePayment: {
    act: () => olga.wallets('approvePayment', { outgoingPayment: there.payment, reason: '' }),
    recorded: once(PROPOSED)
  },
  declinePayment: {
    act: () => olga.wallets('declinePayment', { outgoingPayment: there.other, reason: '' }),
    recorded: once(DONE)
  },
  createRefund: {
    act: async () => {
      await world.whenEnded(there.payment)
      const refund = { refundOf: there.payment, idempotencyKey: REFUND_KEY, reason: '', returnsFee: false }
      return olga.wallets('createRefund', { ...refund, value: '1' })
    },
    recorded: once(PROPOSED)
  },
  createApprovalRule: IN_STEPS,
  deleteApprovalRule: {
    act: () => olga.wallets('deleteApprovalRule', { ruleId: there.ruleId }),
    recorded: possibleOnce(PROPOSED)
  },
  giveUpLostPayments: IN_STEPS,
  restoreReservations: IN_STEPS,
  acceptUncountedPayments: IN_STEPS,
  createPeer: { act: () => olga.peers('createPeer', OTHER_BANK), recorded: possibleOnce(DONE) },
  updatePeer: {
    // Harmless: it never waits.
    act: () => olga.peers('updatePeer', { name: BANK.name, outgoingToken: peer.token, routes: undefined }),
    recorded: eachTime(DONE)
  },
  rotatePeerToken: {
    act: () =>
      olga.peers('rotatePeerToken', {
        name: BANK.name,
        incomingToken: BANK.incomingToken,
        overlapSeconds: 0
      }),
    recorded: eachTime(DONE)
  },
  settlePeer: { act: () => settle('first'), recorded: once(PROPOSED) },
  decidePacket: {
    act: () => olga.peers('decidePacket', { name: BANK.name, condition, arrived: false, arrivedValue: '' }),
    recorded: possibleOnce(PROPOSED)
  },
  createWebhookEndpoint: { act: createEndpoint, recorded: eachTime(DONE) },
  updateWebhookEndpoint: {
    act: () =>
      olga.webhooks('updateWebhookEndpoint', {
        id: there.endpointId,
        walletAddress: DORA,
        eventTypes: undefined,
        enable: false
      }),
    recorded: once(PROPOSED)
  },
  disableWebhookEndpoint: {
    act: () => olga.webhooks('disableWebhookEndpoint', { id: there.endpointId }),
    recorded: once(PROPOSED)
  },
  rotateWebhookSecret: {
    act: () => olga.webhooks('rotateWebhookSecret', { id: there.endpointId, secret: '' }),
    recorded: eachTime(DONE)
  },
  testWebhookEndpoint: IN_STEPS,
  replayWebhooks: {
    act: () => olga.webhooks('replayWebhooks', { id: there.endpointId, after: undefined }),
    recorded: eachTime(PROPOSED)
  },
  deleteWebhookEndpoint: {
    act: () => olga.webhooks('deleteWebhookEndpoint', { id: there.endpointId }),
    recorded: possibleOnce(PROPOSED)
  }
}

const settle = (reference: string) =>
  olga.peers('settlePeer', {
    name: BANK.name,
    direction: SETTLEMENT_DIRECTION_RECEIVED,
    value: '7',
    reference,
    key: reference
  })

describe('the least that an act can do', () => {
  const cases = Object.entries(ACTS).flatMap(([name, act]) =>
    act === IN_STEPS ? [] : [[name, act] as const]
  )

  it.each(cases)('counts, and may wait for a second person: %s', async (name, { act, recorded: ends }) => {
    expect([await recorded(name, act), await recorded(name, act)]).toEqual(ends)
  })

  it('is tried for every act', () => {
    const { wallets, peers, webhooks } = OPERATOR_ROLES
    const acts = [wallets, peers, webhooks].flatMap((roles) =>
      Object.entries(roles).flatMap(([name, role]) => (role === 'viewer' ? [] : [name]))
    )
    expect(Object.keys(ACTS).toSorted()).toEqual(acts.toSorted())
    const known: Readonly<Record<string, object>> = { ...WALLET_ACTS, ...PEER_ACTS }
    const tried = new Set(cases.map(([name]) => name))
    for (const name of acts)
      if (name in known) expect([name, 'inSteps' in (known[name] ?? {})]).toEqual([name, !tried.has(name)])
  })

  it('is seen, whatever else changes its subject at the same moment', async () => {
    const [row] = await world.database.query<{ id: string }>(
      'select receivable_account_id as id from peer where name = $1',
      [BANK.name]
    )
    const owe = (query: TestQuery, value: number) =>
      query('update account set debits_posted = debits_posted + $1 where id = $2', [value, row?.id])
    // What the peer owes is the same before and after the settlement.
    const { settled } = await world.database.inTransaction(async (query) => {
      await owe(query, 7)
      const call = recorded('settlePeer', () => settle('second'))
      await whenLocked(world.database.query)
      return { settled: call }
    })
    expect(await settled).toEqual(PROPOSED)
    await owe(world.database.query, -7)
  })

  it('is what changes a limit of a peer', async () => {
    const limit = () =>
      olga.peers('updatePeer', { name: BANK.name, packetLimitValue: '1000', routes: undefined })
    expect([await recorded('updatePeer', limit), await recorded('updatePeer', limit)]).toEqual(once(PROPOSED))
  })
})
