import { randomUUID } from 'node:crypto'
import { operators, wallet } from '@open-payments-server/proto'
import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type OperatedWorld, refusalOf, startOperatedWorld, type TestOperator } from './support/operators.js'
import { ALICE, BOB, PUBLIC_URL } from './support/payment-world.js'

const USD = { code: 'USD', scale: 2 }
const OUTGOING_TOKEN = 'an-outgoing-token-that-nobody-may-read'
const INCOMING_TOKEN = 'an-incoming-token-that-nobody-may-read'

let world: OperatedWorld
let olga: TestOperator
let tom: TestOperator
let vera: TestOperator

beforeAll(async () => {
  world = await startOperatedWorld({
    PEER_SECRET_KEY: 'the-key-of-the-tokens-of-peers-here',
    WEBHOOK_SECRET_KEY: 'kT4v9pQz7mWx2cRb'
  })
  olga = await world.signIn('olga', ['operator'])
  tom = await world.signIn('tom', ['approver'])
  vera = await world.signIn('vera', ['viewer'])
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

const everything = {
  operator: '',
  subject: '',
  fromTime: undefined,
  toTime: undefined,
  pageSize: 0,
  pageToken: ''
}

/** Acts that concern something, the newest first. */
async function actsOn(subject: string): Promise<operators.OperatorAction[]> {
  return (await vera.actions('listOperatorActions', { ...everything, subject })).actions
}

const text = (json: string | undefined): unknown =>
  json === '' || json === undefined ? json : JSON.parse(json)

describe('what an operator does', () => {
  it('is recorded: who, what, before, after, why and when', async () => {
    const orderedAtMs = world.clock.now()
    await olga.wallets('freezeAccount', { accountName: 'carol', reason: 'stolen phone' })
    const [action] = await actsOn('carol')
    expect(action).toMatchObject({
      operator: { issuer: world.issuer.issuer, sub: 'olga-7', name: 'olga', machine: '' },
      role: 'operator',
      method: '/openpayments.wallet.v1.WalletOperatorService/FreezeAccount',
      subjectKind: 'account',
      subject: 'carol',
      reason: 'stolen phone',
      outcome: operators.ActionOutcome.ACTION_OUTCOME_DONE,
      problem: '',
      proposalId: '',
      approvedBy: undefined
    })
    expect(action?.actTime?.getTime()).toBeGreaterThanOrEqual(orderedAtMs)
    expect(action?.completeTime?.getTime()).toBeGreaterThanOrEqual(action?.actTime?.getTime() ?? NaN)
    expect(action?.completeTime?.getTime()).toBeLessThanOrEqual(world.clock.now())
    expect(text(action?.request)).toEqual({ accountName: 'carol', reason: 'stolen phone' })
    expect(text(action?.before)).not.toHaveProperty('freeze')
    expect(text(action?.after)).toMatchObject({
      name: 'carol',
      freeze: { frozenBy: `${olga.key} (olga)`, reason: 'stolen phone' }
    })
  })

  it('is recorded when it was so already, and then changed nothing', async () => {
    await olga.wallets('freezeAccount', { accountName: 'carol', reason: 'again' })
    const [action] = await actsOn('carol')
    expect(action?.outcome).toBe(operators.ActionOutcome.ACTION_OUTCOME_UNCHANGED)
    expect(action?.after).toBe(action?.before)
    await olga.wallets('unfreezeAccount', { accountName: 'carol', reason: '' })
    expect((await actsOn('carol'))[0]?.outcome).toBe(operators.ActionOutcome.ACTION_OUTCOME_DONE)
  })

  it('is recorded with the balance before and after it, once for each id', async () => {
    const deposit = { depositId: randomUUID(), accountName: 'bob', value: '500' }
    await olga.wallets('deposit', deposit)
    await olga.wallets('deposit', deposit)
    const [repeated, done] = await actsOn('bob')
    const [before, after] = [text(done?.before), text(done?.after)] as { balanceValue: string }[]
    expect(BigInt(after?.balanceValue ?? '') - BigInt(before?.balanceValue ?? '')).toBe(500n)
    expect(repeated?.outcome).toBe(operators.ActionOutcome.ACTION_OUTCOME_UNCHANGED)
  })

  it('is recorded when it was refused, unless it was malformed', async () => {
    const withdrawal = { withdrawalId: randomUUID(), accountName: 'bob', value: '99999999999' }
    expect(await refusalOf(olga.wallets('withdraw', withdrawal))).toBe('FAILED_PRECONDITION value')
    const [action, ...others] = await actsOn('bob')
    expect(action).toMatchObject({
      outcome: operators.ActionOutcome.ACTION_OUTCOME_REFUSED,
      problem: 'the account bob has less than that available',
      after: ''
    })
    const malformed = { ...withdrawal, value: '-1' }
    expect(await refusalOf(olga.wallets('withdraw', malformed))).toBe('INVALID_ARGUMENT value')
    expect(await actsOn('bob')).toEqual([action, ...others])
  })

  it.each(['disableWebhookEndpoint', 'testWebhookEndpoint'] as const)(
    'by %s is recorded and refused whatever it names, as far as a record holds that',
    async (method) => {
      for (const id of ['a\u0000b', 'a\ud800b', `${method}${'/'.repeat(10_000)}`]) {
        expect(await refusalOf(olga.webhooks(method, { id }))).toBe('NOT_FOUND id')
        const [action] = await actsOn(id.slice(0, 2_048).replace(/[\0\ud800]/, '\ufffd'))
        expect(action).toMatchObject({
          method: expect.stringMatching(new RegExp(`/${method}$`, 'i')),
          outcome: operators.ActionOutcome.ACTION_OUTCOME_REFUSED
        })
      }
    }
  )

  it('is recorded without secrets', async () => {
    const peer = {
      name: 'other-bank',
      asset: USD,
      ilpAddress: 'test.other',
      routes: [],
      endpoint: 'http://127.0.0.1:9/ilp',
      outgoingToken: OUTGOING_TOKEN,
      incomingToken: INCOMING_TOKEN,
      receivableLimitValue: '1000',
      payableLimitValue: '',
      packetLimitValue: '',
      lowAlertValue: '',
      highAlertValue: ''
    }
    await olga.peers('createPeer', peer)
    const rotated = { name: peer.name, incomingToken: `${INCOMING_TOKEN}-2`, overlapSeconds: 0 }
    await olga.peers('rotatePeerToken', rotated)
    await olga.peers('settlePeer', {
      name: peer.name,
      direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED,
      value: '7',
      reference: 'bank transfer 7',
      key: 'settlement-7'
    })
    const [settled, rotation, created] = await actsOn(peer.name)
    expect(text(created?.request)).toMatchObject({ name: peer.name, receivableLimitValue: '1000' })
    expect(created?.before).toBe('')
    expect(text(created?.after)).toMatchObject({ name: peer.name, receivableLimitValue: '1000' })
    expect(rotation?.outcome).toBe(operators.ActionOutcome.ACTION_OUTCOME_DONE)
    expect(text(settled?.request)).toMatchObject({ direction: 'SETTLEMENT_DIRECTION_RECEIVED', value: '7' })
    expect(text(settled?.after)).toMatchObject({ receivableValue: '-7' })
    const rows = await world.database.query<{ row: string }>(
      'select to_json(a)::text as row from operator_action a'
    )
    for (const { row } of rows)
      for (const secret of [OUTGOING_TOKEN, INCOMING_TOKEN]) expect(row).not.toContain(secret)
  })

  it('is recorded in several steps where it takes several, and its end once', async () => {
    const { rule } = await olga.wallets('createApprovalRule', {
      aboveValue: '100',
      walletAddress: '',
      client: '',
      firstPayee: false,
      method: ''
    })
    const [created] = await actsOn(rule?.id ?? '')
    expect(created).toMatchObject({
      subjectKind: 'approval-rule',
      outcome: operators.ActionOutcome.ACTION_OUTCOME_DONE
    })
    expect(text(created?.after)).toMatchObject({ aboveValue: '100' })
    await olga.wallets('deleteApprovalRule', { ruleId: rule?.id ?? '' })
    const [deleted] = await actsOn(rule?.id ?? '')
    expect(text(deleted?.before)).toMatchObject({ aboveValue: '100' })
    expect(deleted?.after).toBe('')
  })

  it('never changes, whatever anybody sends to the database', async () => {
    for (const statement of [
      `delete from operator_action`,
      `update operator_action set operator = 'somebody else'`,
      `update operator_action set outcome = null, ended_at = null`
    ])
      await expect(world.database.query(statement)).rejects.toThrow('never changes')
  })
})

describe('an act and its record', () => {
  const refuseRecords = `
    create function refuse_record() returns trigger language plpgsql as $$ begin raise exception 'no record'; end $$;
    create trigger refuse_record before insert on operator_action for each row execute function refuse_record()`

  it('are one: nothing is done that cannot be recorded', async () => {
    const before = await world.available('bob')
    await world.database.query(refuseRecords)
    const deposit = { depositId: randomUUID(), accountName: 'bob', value: '500' }
    try {
      expect(await refusalOf(olga.wallets('deposit', deposit))).toBe('INTERNAL Internal error')
    } finally {
      await world.database.query('drop function refuse_record cascade')
    }
    expect(await world.available('bob')).toBe(before)
    await olga.wallets('deposit', deposit)
    expect(await world.available('bob')).toBe(before + 500n)
  })
})

describe('acts', () => {
  it('are listed by who, by subject and by time, in pages', async () => {
    const { kid, x } = createTestKey('act').jwk
    world.clock.advanceSeconds(1)
    const fromTime = new Date(world.clock.now())
    await olga.wallets('addClientKey', { walletAddress: ALICE, kid, x })
    world.clock.advanceSeconds(1)
    await olga.wallets('revokeClientKey', { walletAddress: ALICE, kid })
    const toTime = new Date(world.clock.now() + 1)
    world.clock.advanceSeconds(1)
    await olga.wallets('addClientKey', { walletAddress: BOB, kid, x })
    const methodsOf = async (filter: Partial<operators.ListOperatorActionsRequest>) => {
      const { actions, nextPageToken } = await vera.actions('listOperatorActions', {
        ...everything,
        ...filter
      })
      return [...actions.map(({ method }) => method.split('/')[2]), ...(nextPageToken === '' ? [] : ['…'])]
    }
    expect(await methodsOf({ fromTime })).toEqual(['AddClientKey', 'RevokeClientKey', 'AddClientKey'])
    expect(await methodsOf({ fromTime, subject: ALICE })).toEqual(['RevokeClientKey', 'AddClientKey'])
    expect(await methodsOf({ fromTime, toTime })).toEqual(['RevokeClientKey', 'AddClientKey'])
    expect(await methodsOf({ fromTime, operator: olga.key, pageSize: 1 })).toEqual(['AddClientKey', '…'])
    expect(await methodsOf({ fromTime, operator: tom.key })).toEqual([])
    expect(await methodsOf({ operator: 'development', subject: 'alice' })).toEqual([
      'Deposit',
      'CreateAccount'
    ])
    const seen: string[] = []
    for (let pageToken = ''; ;) {
      const page = await vera.actions('listOperatorActions', {
        ...everything,
        fromTime,
        pageSize: 2,
        pageToken
      })
      seen.push(...page.actions.map(({ id }) => id))
      pageToken = page.nextPageToken
      if (pageToken === '') break
    }
    expect(new Set(seen).size).toBe(3)
  })

  it.each([
    [{ operator: 'x'.repeat(5_000) }, 'INVALID_ARGUMENT operator'],
    [{ subject: 'a\u0000' }, 'INVALID_ARGUMENT subject'],
    [{ pageSize: 1_001 }, 'INVALID_ARGUMENT page_size'],
    [{ pageToken: 'x' }, 'INVALID_ARGUMENT page_token']
  ])('are not listed for %j', async (filter, refusal) => {
    expect(await refusalOf(vera.actions('listOperatorActions', { ...everything, ...filter }))).toBe(refusal)
  })

  it('on a wallet address are found by its one URL, also when it was not created', async () => {
    const pathless = { path: '/', publicName: '', accountName: 'alice' }
    await olga.wallets('createWalletAddress', pathless)
    expect(await refusalOf(olga.wallets('createWalletAddress', pathless))).toBe('ALREADY_EXISTS path')
    await olga.wallets('freezeWalletAddress', { walletAddress: `${PUBLIC_URL}/`, reason: '' })
    await olga.wallets('unfreezeWalletAddress', { walletAddress: PUBLIC_URL, reason: '' })
    expect((await actsOn(PUBLIC_URL)).map(({ method }) => method.split('/')[2])).toEqual([
      'UnfreezeWalletAddress',
      'FreezeWalletAddress',
      'CreateWalletAddress',
      'CreateWalletAddress'
    ])
  })

  it('of a machine in plain text are those of development', async () => {
    await world.operate('createWalletAddress', { path: '/dora', publicName: '', accountName: 'alice' })
    const [action] = await actsOn(`${PUBLIC_URL}/dora`)
    expect(action?.operator).toEqual({ issuer: '', sub: '', name: '', machine: 'development' })
  })
})

describe('whoever calls', () => {
  it('is told who the service takes them for, and what they may do', async () => {
    const who = { issuer: world.issuer.issuer, sub: 'vera-7', name: 'vera', machine: '' }
    expect(await vera.actions('getOperator', {})).toEqual({ operator: who, roles: ['viewer'] })
    const both = await world.signIn('cleo', ['approver', 'operator', 'others'])
    expect((await both.actions('getOperator', {})).roles).toEqual(['operator', 'approver'])
    const development = { issuer: '', sub: '', name: '', machine: 'development' }
    expect(await world.machine().actions('getOperator', {})).toEqual({
      operator: development,
      roles: ['viewer', 'operator', 'approver']
    })
    const nobody = await world.signIn('nils', [])
    expect(await refusalOf(nobody.actions('getOperator', {}))).toBe(
      'PERMISSION_DENIED This call needs the role viewer, which the operator does not have'
    )
  })
})
