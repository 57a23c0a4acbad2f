import { randomUUID } from 'node:crypto'
import { operators } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type OperatedWorld,
  proposalOf,
  refusalOf,
  startOperatedWorld,
  type TestOperator
} from './support/operators.js'

const USD = { code: 'USD', scale: 2 }
/** 20,000.00: at the threshold. */
const MUCH = '2000000'

let world: OperatedWorld
let olga: TestOperator
let tom: TestOperator
let tina: TestOperator
/** Operator and approver. */
let cleo: TestOperator

/** Tokens are good for ten minutes. */
async function signIn(): Promise<void> {
  olga = await world.signIn('olga', ['operator'])
  tom = await world.signIn('tom', ['approver'])
  tina = await world.signIn('tina', ['approver'])
  cleo = await world.signIn('cleo', ['operator', 'approver'])
}

beforeAll(async () => {
  world = await startOperatedWorld({
    PEER_SECRET_KEY: 'the-key-of-the-tokens-of-peers-here',
    OPERATOR_SECOND_PERSON_FROM: '20000.00 USD, 20000.00 EUR',
    OPERATOR_SECOND_PERSON_FOR: 'SetAccountHolder,UnfreezeAccount'
  })
  await signIn()
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

const depositOf = (value: string, accountName = 'bob') => ({ depositId: randomUUID(), accountName, value })
const approve = (who: TestOperator, proposalId: string) =>
  who.actions('approveProposal', { proposalId, reason: 'seen' })
const reject = (who: TestOperator, proposalId: string) =>
  who.actions('rejectProposal', { proposalId, reason: 'not seen' })
const stateOf = async (proposalId: string) =>
  (await tom.actions('getProposal', { proposalId })).proposal?.state
const { ProposalState, ActionOutcome } = operators

/** Acts that concern something, the newest first. */
async function actsOn(subject: string): Promise<operators.OperatorAction[]> {
  const filter = { operator: '', subject, fromTime: undefined, toTime: undefined, pageSize: 0, pageToken: '' }
  return (await tom.actions('listOperatorActions', filter)).actions
}

describe('an act at or above the amount', () => {
  it('is done once another person has approved it, and is told as the act of both', async () => {
    const before = await world.available('bob')
    const deposit = depositOf(MUCH)
    const id = await proposalOf(olga.wallets('deposit', deposit))
    expect(await proposalOf(olga.wallets('deposit', deposit))).toBe(id)
    expect(await world.available('bob')).toBe(before)
    const { proposal } = await tom.actions('getProposal', { proposalId: id })
    expect(proposal).toMatchObject({
      id,
      state: ProposalState.PROPOSAL_STATE_OPEN,
      method: '/openpayments.wallet.v1.WalletOperatorService/Deposit',
      subjectKind: 'account',
      subject: 'bob',
      proposedBy: { sub: 'olga-7' },
      decidedBy: undefined
    })
    expect(JSON.parse(proposal?.request ?? '')).toEqual(deposit)
    expect(JSON.parse(proposal?.before ?? '')).toMatchObject({ balanceValue: before.toString() })
    expect(JSON.parse(proposal?.after ?? '')).toMatchObject({
      balanceValue: (before + 2_000_000n).toString()
    })

    const approved = await approve(tom, id)
    expect(approved.proposal).toMatchObject({
      state: ProposalState.PROPOSAL_STATE_APPROVED,
      decidedBy: { sub: 'tom-7' },
      decisionReason: 'seen'
    })
    expect(await approve(tom, id)).toEqual(approved)
    expect(await refusalOf(approve(tina, id))).toBe('FAILED_PRECONDITION proposal_id')
    expect(await refusalOf(reject(tina, id))).toBe('FAILED_PRECONDITION proposal_id')
    expect(await world.available('bob')).toBe(before + 2_000_000n)
    await olga.wallets('deposit', deposit)
    expect(await world.available('bob')).toBe(before + 2_000_000n)

    const [repeated, done, proposed] = await actsOn('bob')
    expect(repeated).toMatchObject({ outcome: ActionOutcome.ACTION_OUTCOME_UNCHANGED, approvedBy: undefined })
    expect(done).toMatchObject({
      operator: { sub: 'olga-7' },
      approvedBy: { sub: 'tom-7' },
      role: 'operator',
      outcome: ActionOutcome.ACTION_OUTCOME_DONE,
      proposalId: id
    })
    expect(proposed).toMatchObject({
      outcome: ActionOutcome.ACTION_OUTCOME_PROPOSED,
      proposalId: id,
      after: ''
    })
  })

  it('is done at once below it', async () => {
    const before = await world.available('bob')
    await olga.wallets('deposit', depositOf('1999999'))
    expect(await world.available('bob')).toBe(before + 1_999_999n)
  })

  it('is not approved by whoever proposed it', async () => {
    const before = await world.available('bob')
    const id = await proposalOf(cleo.wallets('deposit', depositOf(MUCH)))
    expect(await refusalOf(approve(cleo, id))).toBe('PERMISSION_DENIED proposal_id')
    expect(await refusalOf(approve(olga, id))).toMatch('PERMISSION_DENIED This call needs the role approver')
    expect((await actsOn(id))[0]).toMatchObject({
      operator: { sub: 'cleo-7' },
      outcome: ActionOutcome.ACTION_OUTCOME_REFUSED
    })
    const bySql = `
      update operator_proposal set decision = 'approved', decided_at = proposed_at, decider = proposer,
             decider_issuer = proposer_issuer, decider_sub = proposer_sub where id = $1`
    await expect(world.database.query(bySql, [id])).rejects.toThrow('operator_proposal_second_person')
    expect(await stateOf(id)).toBe(ProposalState.PROPOSAL_STATE_OPEN)
    expect(await world.available('bob')).toBe(before)
    await reject(cleo, id)
    expect(await refusalOf(approve(tom, id))).toBe('FAILED_PRECONDITION proposal_id')
  })

  it('is not approved by whoever proposed it at another client, where they have another `sub`', async () => {
    const elsewhere = await world.signIn('cleo', ['approver'], 'command-line')
    const id = await proposalOf(cleo.wallets('deposit', depositOf(MUCH)))
    expect(await refusalOf(approve(elsewhere, id))).toBe('PERMISSION_DENIED proposal_id')
    await reject(cleo, id)
  })

  it('is not approved once its proposer holds the account, by whichever of their names', async () => {
    const elsewhere = await world.signIn('olga', ['operator'], 'command-line')
    for (const sub of ['olga-7', 'olga-at-command-line']) {
      const id = await proposalOf(elsewhere.wallets('deposit', depositOf(MUCH, 'carol')))
      const setHolder = async (holder: { issuer: string; sub: string } | undefined) =>
        approve(tom, await proposalOf(cleo.wallets('setAccountHolder', { accountName: 'carol', holder })))
      await setHolder({ issuer: world.issuer.issuer, sub })
      expect(await refusalOf(approve(tom, id))).toBe('PERMISSION_DENIED account_name')
      await setHolder(undefined)
      await reject(tom, id)
    }
  })

  it('is not approved by a machine, whoever proposed it', async () => {
    const id = await proposalOf(world.operate('deposit', depositOf(MUCH)))
    const machine = world.machine()
    expect(await refusalOf(approve(machine, id))).toBe('PERMISSION_DENIED proposal_id')
    const bySql = `update operator_proposal set decision = 'approved', decided_at = proposed_at, decider = 'another' where id = $1`
    await expect(world.database.query(bySql, [id])).rejects.toThrow('operator_proposal_second_person')
    await approve(tom, id)
    expect((await actsOn('bob'))[0]).toMatchObject({
      operator: { machine: 'development' },
      approvedBy: { sub: 'tom-7' }
    })
    const ofPerson = await proposalOf(olga.wallets('deposit', depositOf(MUCH)))
    expect(await refusalOf(approve(machine, ofPerson))).toBe('PERMISSION_DENIED proposal_id')
    await reject(machine, ofPerson)
  })

  it('has one outcome, however many decide at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const before = await world.available('bob')
      const id = await proposalOf(olga.wallets('deposit', depositOf(MUCH)))
      const outcomes = await Promise.all([
        refusalOf(approve(tom, id)),
        refusalOf(approve(tina, id)),
        refusalOf(reject(cleo, id))
      ])
      const [isApproved, isRejected] = [outcomes.slice(0, 2), outcomes.slice(2)].map((some) =>
        some.includes('nothing was refused')
      )
      expect(isApproved).toBe(!(isRejected ?? true))
      expect(outcomes.filter((outcome) => outcome === 'FAILED_PRECONDITION proposal_id').length).toBe(2)
      expect(await world.available('bob')).toBe(before + (isApproved === true ? 2_000_000n : 0n))
    }
  })

  it('is approved in time, or not at all', async () => {
    const before = await world.available('bob')
    const id = await proposalOf(olga.wallets('deposit', depositOf(MUCH)))
    world.clock.advanceSeconds(24 * 3_600)
    await signIn()
    expect(await refusalOf(approve(tom, id))).toBe('FAILED_PRECONDITION proposal_id')
    expect(await refusalOf(reject(tom, id))).toBe('FAILED_PRECONDITION proposal_id')
    expect(await stateOf(id)).toBe(ProposalState.PROPOSAL_STATE_EXPIRED)
    expect(await world.available('bob')).toBe(before)
  })

  it('still awaits a decision when it is refused, and is done when it can be', async () => {
    await world.operate('createAccount', { name: 'erin', asset: USD })
    for (const value of ['1000000', '1000000']) await olga.wallets('deposit', depositOf(value, 'erin'))
    const withdrawal = { withdrawalId: randomUUID(), accountName: 'erin', value: MUCH }
    const id = await proposalOf(olga.wallets('withdraw', withdrawal))
    await olga.wallets('withdraw', { withdrawalId: randomUUID(), accountName: 'erin', value: '1' })
    expect(await refusalOf(approve(tom, id))).toBe('FAILED_PRECONDITION value')
    expect(await stateOf(id)).toBe(ProposalState.PROPOSAL_STATE_OPEN)
    await olga.wallets('deposit', depositOf('1', 'erin'))
    await approve(tom, id)
    expect(await world.available('erin')).toBe(0n)
  })

  it('is refused at once, and not proposed, when it is not possible', async () => {
    const withdrawal = { withdrawalId: randomUUID(), accountName: 'erin', value: MUCH }
    expect(await refusalOf(olga.wallets('withdraw', withdrawal))).toBe('FAILED_PRECONDITION value')
    expect(await refusalOf(olga.wallets('deposit', depositOf(MUCH, 'nobody')))).toBe('NOT_FOUND account_name')
  })
})

describe('an act that always needs a second person', () => {
  it('says before and after it what it changes, and is done by both', async () => {
    const holder = { issuer: 'https://login.test', sub: 'bob-7' }
    const id = await proposalOf(olga.wallets('setAccountHolder', { accountName: 'bob', holder }))
    const { accounts } = await world.operate('listAccounts', { name: 'bob', pageSize: 0, pageToken: '' })
    expect(accounts[0]?.holder).toBeUndefined()
    const { proposal } = await approve(tom, id)
    expect(JSON.parse(proposal?.before ?? '')).not.toHaveProperty('holder')
    expect(JSON.parse(proposal?.after ?? '')).toMatchObject({ holder })
    const after = await world.operate('listAccounts', { name: 'bob', pageSize: 0, pageToken: '' })
    expect(after.accounts[0]?.holder).toEqual(holder)
    const [told] = await world.database.query<{ by: string }>(
      `select change ->> 'by' as by from (select change from event union all select change from event_outbox) e
        where change ->> 'after' like '%bob-7%'`
    )
    expect(told?.by).toBe(`${olga.key} (olga), approved by ${tom.key} (tom)`)
  })
})

describe('a proposal to replace something', () => {
  const account = async () =>
    (await tom.wallets('listAccounts', { name: 'carol', pageSize: 0, pageToken: '' })).accounts[0]

  it('is not approved for a freeze that it does not show', async () => {
    await olga.wallets('freezeAccount', { accountName: 'carol', reason: 'stolen phone' })
    const unfreeze = (who: TestOperator) =>
      proposalOf(who.wallets('unfreezeAccount', { accountName: 'carol', reason: 'found' }))
    const [first, second] = [await unfreeze(olga), await unfreeze(cleo)]
    await approve(tom, first)
    expect((await account())?.freeze).toBeUndefined()
    await olga.wallets('freezeAccount', { accountName: 'carol', reason: 'court order' })
    expect(await refusalOf(approve(tom, second))).toBe('FAILED_PRECONDITION proposal_id')
    expect((await account())?.freeze?.reason).toBe('court order')
    expect((await actsOn(second))[0]).toMatchObject({
      outcome: ActionOutcome.ACTION_OUTCOME_REFUSED,
      problem: expect.stringContaining('(freeze)')
    })
    // It awaits a rejection, and the same call proposes anew what can be approved.
    expect(await stateOf(second)).toBe(ProposalState.PROPOSAL_STATE_OPEN)
    const third = await unfreeze(cleo)
    expect(third).not.toBe(second)
    expect(await unfreeze(cleo)).toBe(third)
    await reject(tom, second)
    await approve(tom, third)
    expect((await account())?.freeze).toBeUndefined()
  })

  it('is not approved for a holder whom it does not show', async () => {
    const set = (sub: string) =>
      proposalOf(
        olga.wallets('setAccountHolder', {
          accountName: 'carol',
          holder: { issuer: 'https://login.test', sub }
        })
      )
    const [first, second] = [await set('carol-1'), await set('carol-2')]
    await approve(tom, first)
    expect(await refusalOf(approve(tom, second))).toBe('FAILED_PRECONDITION proposal_id')
    expect((await account())?.holder?.sub).toBe('carol-1')
    await reject(tom, second)
  })
})

describe('the limit of a peer', () => {
  const peer = {
    name: 'other-bank',
    asset: USD,
    ilpAddress: 'test.other',
    routes: [],
    endpoint: 'http://127.0.0.1:9/ilp',
    outgoingToken: 'an-outgoing-token-that-nobody-may-read',
    incomingToken: 'an-incoming-token-that-nobody-may-read',
    receivableLimitValue: '',
    payableLimitValue: '',
    packetLimitValue: '',
    lowAlertValue: '',
    highAlertValue: ''
  }

  it('is not without a second person at first, whose eyes a secret is not for', async () => {
    expect(await refusalOf(olga.peers('createPeer', peer))).toMatch(
      /^FAILED_PRECONDITION This needs a second/
    )
    const below = { receivableLimitValue: '1999999', payableLimitValue: '1999999' }
    await olga.peers('createPeer', { ...peer, ...below })
  })

  it('is raised by two, and a token is replaced by one', async () => {
    const { name } = peer
    const id = await proposalOf(
      olga.peers('updatePeer', { name, receivableLimitValue: MUCH, routes: undefined })
    )
    await approve(tom, id)
    expect((await olga.peers('getPeer', { name })).peer?.receivableLimitValue).toBe(MUCH)
    const outgoingToken = 'another-outgoing-token-that-nobody-may-read'
    await olga.peers('updatePeer', { name, outgoingToken, routes: undefined })
  })

  it('is not set where another one than the proposal shows is in force, whatever else changed', async () => {
    const { name } = peer
    const set = (receivableLimitValue: string) =>
      proposalOf(olga.peers('updatePeer', { name, receivableLimitValue, routes: undefined }))
    const [first, second] = [await set('3000000'), await set('4000000')]
    await olga.peers('updatePeer', { name, lowAlertValue: '5', routes: undefined })
    await approve(tom, first)
    expect(await refusalOf(approve(tom, second))).toBe('FAILED_PRECONDITION proposal_id')
    expect((await olga.peers('getPeer', { name })).peer?.receivableLimitValue).toBe('3000000')
    await reject(tom, second)
  })

  it('is taken away by two, and the proposal and the log say so', async () => {
    const { name } = peer
    const id = await proposalOf(
      olga.peers('updatePeer', { name, receivableLimitValue: '', routes: undefined })
    )
    const { proposal } = await approve(tom, id)
    const asked = { name, receivableLimitValue: '' }
    expect(JSON.parse(proposal?.request ?? '')).toEqual(asked)
    const [done, proposed] = await actsOn(name)
    for (const action of [done, proposed]) expect(JSON.parse(action?.request ?? '')).toEqual(asked)
    expect((await olga.peers('getPeer', { name })).peer?.receivableLimitValue).toBe('')
  })
})

describe('proposals', () => {
  it('are listed by their state, in pages', async () => {
    const id = await proposalOf(olga.wallets('deposit', depositOf(MUCH)))
    const list = async (state: operators.ProposalState, pageSize = 0) =>
      (await tom.actions('listProposals', { state, pageSize, pageToken: '' })).proposals
    expect((await list(ProposalState.PROPOSAL_STATE_OPEN)).map((proposal) => proposal.id)).toEqual([id])
    const all = await list(ProposalState.PROPOSAL_STATE_UNSPECIFIED)
    expect(all[0]?.id).toBe(id)
    expect(await list(ProposalState.PROPOSAL_STATE_UNSPECIFIED, 1)).toHaveLength(1)
    for (const state of [
      ProposalState.PROPOSAL_STATE_APPROVED,
      ProposalState.PROPOSAL_STATE_REJECTED,
      ProposalState.PROPOSAL_STATE_EXPIRED
    ])
      expect(await list(state)).toEqual(all.filter((proposal) => proposal.state === state))
    await reject(tom, id)
    await reject(tina, id)
    expect(await stateOf(id)).toBe(ProposalState.PROPOSAL_STATE_REJECTED)
  })

  it.each([
    ['', 'INVALID_ARGUMENT proposal_id'],
    ['x', 'INVALID_ARGUMENT proposal_id'],
    [randomUUID(), 'NOT_FOUND proposal_id']
  ])('%j is none', async (proposalId, refusal) => {
    expect(await refusalOf(tom.actions('getProposal', { proposalId }))).toBe(refusal)
    expect(await refusalOf(approve(tom, proposalId))).toBe(refusal)
    expect(await refusalOf(reject(tom, proposalId))).toBe(refusal)
  })
})
