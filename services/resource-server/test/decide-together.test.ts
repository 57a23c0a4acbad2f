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

const ROUNDS = 20
const ROUNDS_TIMEOUT_MS = 120_000
/** 20,000.00: at the amount from which a second person is needed. */
const MUCH = 2_000_000n
const LITTLE = 100n
const { ACTION_OUTCOME_DONE, ACTION_OUTCOME_REFUSED, ACTION_OUTCOME_UNCHANGED } = operators.ActionOutcome
const { PROPOSAL_STATE_OPEN } = operators.ProposalState

let world: OperatedWorld
let olga: TestOperator
let tom: TestOperator
let tina: TestOperator
let theo: TestOperator
let receiver: string

beforeAll(async () => {
  world = await startOperatedWorld({
    OPERATOR_SECOND_PERSON_FROM: '20000.00 USD, 20000.00 EUR',
    APPROVAL_TIMEOUT_SECONDS: '86400'
  })
  olga = await world.signIn('olga', ['operator'])
  tom = await world.signIn('tom', ['approver'])
  tina = await world.signIn('tina', ['approver'])
  theo = await world.signIn('theo', ['approver'])
  receiver = await world.createReceiver()
  await world.operate('createApprovalRule', {
    aboveValue: '0',
    walletAddress: '',
    client: '',
    firstPayee: false,
    method: ''
  })
  // Each below the amount.
  for (let deposit = 0; deposit < 50; deposit += 1)
    await olga.wallets('deposit', { depositId: randomUUID(), accountName: 'alice', value: String(MUCH - 1n) })
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

/** Creates a payment that awaits approval; answers its URL. */
async function waiting(value: bigint): Promise<string> {
  // By its metadata each is another request.
  const answer = await world.pay(receiver, value, { metadata: { request: randomUUID() } })
  expect(answer.status).toBe(201)
  const url = answer.textAt('id')
  expect(await stateOf(url)).toBe('awaiting_approval')
  return url
}
const stateOf = async (outgoingPayment: string): Promise<string | undefined> =>
  (await world.operate('getOutgoingPayment', { outgoingPayment })).payment?.payment?.state
const approvePayment = (who: TestOperator, outgoingPayment: string) =>
  who.wallets('approvePayment', { outgoingPayment, reason: 'seen' })
const declinePayment = (who: TestOperator, outgoingPayment: string) =>
  who.wallets('declinePayment', { outgoingPayment, reason: 'not seen' })
const approve = (who: TestOperator, proposalId: string) =>
  who.actions('approveProposal', { proposalId, reason: 'seen' })
const reject = (who: TestOperator, proposalId: string) =>
  who.actions('rejectProposal', { proposalId, reason: 'not seen' })
/** It holds much: so by two, neither of whom ever holds it. */
const holdAccount = async (sub: string | undefined) => {
  const holder = sub === undefined ? undefined : { issuer: world.issuer.issuer, sub }
  await approve(theo, await proposalOf(olga.wallets('setAccountHolder', { accountName: 'alice', holder })))
}

/** Acts that concern something, the newest first. */
async function actsOn(subject: string): Promise<operators.OperatorAction[]> {
  const filter = { operator: '', subject, fromTime: undefined, toTime: undefined, pageSize: 0, pageToken: '' }
  return (await tom.actions('listOperatorActions', filter)).actions
}
/** The acts on something by how they ended, each with what it was refused for. */
async function endsOn(subject: string): Promise<{ done: number; unchanged: number; refused: string[] }> {
  const acts = await actsOn(subject)
  const ended = (outcome: operators.ActionOutcome) => acts.filter((act) => act.outcome === outcome)
  return {
    done: ended(ACTION_OUTCOME_DONE).length,
    unchanged: ended(ACTION_OUTCOME_UNCHANGED).length,
    refused: ended(ACTION_OUTCOME_REFUSED).map(({ problem }) => problem)
  }
}

const REFUSED_PAYMENT = 'FAILED_PRECONDITION outgoing_payment'
const REFUSED_PROPOSAL = 'FAILED_PRECONDITION proposal_id'
const NOT_REFUSED = 'nothing was refused'

describe('two approvers at the same time', () => {
  it(
    'decide about a payment once, and the other is told what was decided',
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = await world.available('bob')
        const url = await waiting(LITTLE)
        const otherDeclines = round % 2 === 1
        const [first, second] = await Promise.all([
          refusalOf(approvePayment(tom, url)),
          refusalOf(otherDeclines ? declinePayment(tina, url) : approvePayment(tina, url))
        ])
        await world.whenEnded(url)
        const { payment } = await world.operate('getOutgoingPayment', { outgoingPayment: url })
        const isApproved = payment?.approval?.decision === 'approved'
        expect(payment?.payment?.state).toBe(isApproved ? 'completed' : 'failed')
        expect(await world.available('bob')).toBe(before + (isApproved ? LITTLE : 0n))
        const ends = await endsOn(url)
        expect(ends.done).toBe(1)
        if (otherDeclines) {
          expect([first, second]).toEqual(
            isApproved ? [NOT_REFUSED, REFUSED_PAYMENT] : [REFUSED_PAYMENT, NOT_REFUSED]
          )
          const told = isApproved ? `was approved at .* by ${tom.key}` : `was declined at .* by ${tina.key}`
          expect(ends).toEqual({ done: 1, unchanged: 0, refused: [expect.stringMatching(told)] })
        } else {
          // The same answer again has no further effect, and says who decided.
          expect([first, second]).toEqual([NOT_REFUSED, NOT_REFUSED])
          expect(ends).toEqual({ done: 1, unchanged: 1, refused: [] })
          expect([`${tom.key} (tom)`, `${tina.key} (tina)`]).toContain(payment?.approval?.decidedBy)
        }
      }
    },
    ROUNDS_TIMEOUT_MS
  )

  it(
    'decide about a proposal once, and the other is told what was decided',
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = await world.available('bob')
        const url = await waiting(MUCH)
        const id = await proposalOf(approvePayment(theo, url))
        const otherRejects = round % 2 === 1
        const [first, second] = await Promise.all([
          refusalOf(approve(tom, id)),
          refusalOf(otherRejects ? reject(tina, id) : approve(tina, id))
        ])
        expect([first, second].toSorted()).toEqual([REFUSED_PROPOSAL, NOT_REFUSED])
        const isApproved = !otherRejects || first === NOT_REFUSED
        const decider = first === NOT_REFUSED ? tom : tina
        const told = `the proposal was ${isApproved ? 'approved' : 'rejected'} at .* by ${decider.key}`
        expect(await endsOn(id)).toEqual({ done: 1, unchanged: 0, refused: [expect.stringMatching(told)] })
        // The act itself is recorded once, as that of both, beside that it was proposed.
        const carriedOut = (await actsOn(url)).filter(({ outcome }) => outcome === ACTION_OUTCOME_DONE)
        expect(carriedOut.map(({ approvedBy }) => approvedBy?.sub)).toEqual(
          isApproved ? [decider.key.split(' ')[0]] : []
        )
        if (!isApproved) await declinePayment(tom, url)
        await world.whenEnded(url)
        expect(await world.available('bob')).toBe(before + (isApproved ? MUCH : 0n))
      }
    },
    ROUNDS_TIMEOUT_MS
  )

  it(
    'approve a proposal and decline its payment: the payment has one outcome, and the other is told',
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = await world.available('bob')
        const url = await waiting(MUCH)
        const id = await proposalOf(approvePayment(theo, url))
        const outcomes = await Promise.all([
          refusalOf(approve(tom, id)),
          refusalOf(declinePayment(tina, url))
        ])
        expect(outcomes.toSorted()).toEqual([REFUSED_PAYMENT, NOT_REFUSED])
        const isApproved = outcomes[0] === NOT_REFUSED
        if (!isApproved) await reject(tom, id)
        await world.whenEnded(url)
        expect(await stateOf(url)).toBe(isApproved ? 'completed' : 'failed')
        expect(await world.available('bob')).toBe(before + (isApproved ? MUCH : 0n))
        expect((await endsOn(url)).done).toBe(1)
      }
    },
    ROUNDS_TIMEOUT_MS
  )
})

describe('a payment that awaits approval', () => {
  it('is not approved by whoever holds the account that pays', async () => {
    await holdAccount('tom-7')
    const url = await waiting(LITTLE)
    expect(await refusalOf(approvePayment(tom, url))).toBe('PERMISSION_DENIED outgoing_payment')
    expect((await actsOn(url))[0]).toMatchObject({
      operator: { sub: 'tom-7' },
      outcome: ACTION_OUTCOME_REFUSED
    })
    expect(await stateOf(url)).toBe('awaiting_approval')
    await approvePayment(tina, url)
    const other = await waiting(LITTLE)
    // They may do without their own payment.
    await declinePayment(tom, other)
    await Promise.all([world.whenEnded(url), world.whenEnded(other)])
    await holdAccount(undefined)
  })

  it('needs a second person who does not hold the account that pays, as the first does not', async () => {
    await holdAccount('tom-7')
    const url = await waiting(MUCH)
    expect(await refusalOf(approvePayment(tom, url))).toBe('PERMISSION_DENIED outgoing_payment')
    const id = await proposalOf(approvePayment(tina, url))
    expect(await refusalOf(approve(tom, id))).toBe('PERMISSION_DENIED proposal_id')
    // Whoever proposed it holds it by now.
    await holdAccount('tina-7')
    expect(await refusalOf(approve(theo, id))).toBe('PERMISSION_DENIED outgoing_payment')
    const { proposal } = await tom.actions('getProposal', { proposalId: id })
    expect(proposal?.state).toBe(PROPOSAL_STATE_OPEN)
    expect(await stateOf(url)).toBe('awaiting_approval')
    await holdAccount(undefined)
    await approve(tom, id)
    await world.whenEnded(url)
    expect(await stateOf(url)).toBe('completed')
  })

  it('is not approved by giving the account away, or taking another, nor does its holder free it or move its money', async () => {
    const all = await world.signIn('tara', ['operator', 'approver'])
    await holdAccount('tara-7')
    const url = await waiting(LITTLE)
    const { walletAddress } =
      (await tom.wallets('getPaymentLife', { paymentId: url.slice(-36) })).payment ?? {}
    if (walletAddress === undefined) throw new Error('the payment is from no wallet address')
    const wanted = { issuer: world.issuer.issuer, sub: 'tara-7' }
    const money = { accountName: 'alice', value: '1' }
    const attempts: readonly (readonly [Promise<unknown>, string])[] = [
      [all.wallets('setAccountHolder', { accountName: 'alice', holder: undefined }), 'account_name'],
      [
        all.wallets('setAccountHolder', { accountName: 'alice', holder: { ...wanted, sub: 'x' } }),
        'account_name'
      ],
      [all.wallets('setAccountHolder', { accountName: 'bob', holder: wanted }), 'account_name'],
      [all.wallets('unfreezeAccount', { accountName: 'alice', reason: '' }), 'account_name'],
      [all.wallets('unfreezeWalletAddress', { walletAddress, reason: '' }), 'wallet_address'],
      [all.wallets('deposit', { ...money, depositId: randomUUID() }), 'account_name'],
      [all.wallets('withdraw', { ...money, withdrawalId: randomUUID() }), 'account_name'],
      [approvePayment(all, url), 'outgoing_payment']
    ]
    for (const [attempt, field] of attempts)
      expect(await refusalOf(attempt)).toBe(`PERMISSION_DENIED ${field}`)
    await holdAccount(undefined)
    await approvePayment(tina, url)
    await world.whenEnded(url)
    await holdAccount('tara-7')
    const refund = { refundOf: url, value: '1', idempotencyKey: randomUUID(), reason: '', returnsFee: false }
    expect(await refusalOf(all.wallets('createRefund', refund))).toBe('PERMISSION_DENIED refund_of')
    await holdAccount(undefined)
  })

  it('is approved by a machine alone only below the amount', async () => {
    const machine = world.machine()
    const little = await waiting(LITTLE)
    await approvePayment(machine, little)
    const url = await waiting(MUCH)
    const id = await proposalOf(approvePayment(machine, url))
    expect(await refusalOf(approve(machine, id))).toBe('PERMISSION_DENIED proposal_id')
    expect(await stateOf(url)).toBe('awaiting_approval')
    await approve(tom, id)
    // What a person proposed neither.
    const other = await waiting(MUCH)
    const ofPerson = await proposalOf(approvePayment(tina, other))
    expect(await refusalOf(approve(machine, ofPerson))).toBe('PERMISSION_DENIED proposal_id')
    await declinePayment(machine, other)
    await Promise.all([little, url, other].map((each) => world.whenEnded(each)))
    expect(await Promise.all([little, url, other].map(stateOf))).toEqual(['completed', 'completed', 'failed'])
  })
})
