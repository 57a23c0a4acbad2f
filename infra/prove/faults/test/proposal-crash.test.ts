import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, createClient, isRpcError } from '@open-payments-server/grpc-transport'
import { operators } from '@open-payments-server/proto'
import { systemClock } from '@open-payments-server/runtime'
import { startTestIssuer, type TestIssuer } from '@open-payments-server/testing'
import { kill, type PaymentPoint, statementOf } from '../src/crash-steps.js'
import { type CrashSystem, startCrashSystem } from '../src/crash-system.js'

const TIMEOUT_MS = 120_000
/** 2,000,000.00: at the amount from which a second person is needed, more than every account begins with. */
const MUCH = 200_000_000n

type Service = 'auth-server' | 'resource-server'
const anew = (name: string) =>
  statementOf<Service>('resource-server', new RegExp(`^/\\* ${name}, planned anew`))
const lock = anew('lock-proposal')
const record = anew('record-operator-action')
const decide = anew('decide-proposal')
const commit = statementOf<Service>('resource-server', /^commit of .*decide-proposal/s)

let system: CrashSystem
let issuer: TestIssuer
beforeAll(async () => {
  issuer = await startTestIssuer(systemClock, 'console')
  const operatorIssuer = {
    issuer: issuer.issuer,
    clientIds: ['console'],
    rolesClaim: 'groups',
    roles: { approver: ['approver'] }
  }
  system = await startCrashSystem({
    OPERATOR_ISSUERS: JSON.stringify([operatorIssuer]),
    OPERATOR_SECOND_PERSON_FROM: '2000000.00 USD, 2000000.00 EUR'
  })
}, TIMEOUT_MS)
afterAll(async () => {
  await system.stop()
  await issuer.stop()
})

/** A person approves it, over a connection of their own. */
async function approve(proposalId: string): Promise<operators.Proposal | undefined> {
  const client = createClient(operators.OperatorActionServiceClient, {
    target: `127.0.0.1:${String(system.resourceServers[0]?.grpcPort)}`,
    deadlineMs: 20_000,
    retriesMax: 0,
    messageBytesMax: 1 << 20,
    metadata: { 'operator-token': await issuer.idToken({ sub: 'tom-7', groups: ['approver'] }) }
  })
  try {
    return (await callUnary(client, 'approveProposal', { proposalId, reason: '' }, { idempotent: false }))
      .proposal
  } finally {
    client.close()
  }
}

async function proposeDeposit(): Promise<string> {
  const deposit = { depositId: randomUUID(), accountName: 'bob', value: MUCH.toString() }
  try {
    await callUnary(system.operator, 'deposit', deposit, { idempotent: false })
  } catch (error) {
    if (isRpcError(error) && error.reference !== undefined) return error.reference
    throw error
  }
  throw new Error('nothing was proposed')
}

const { PROPOSAL_STATE_APPROVED, PROPOSAL_STATE_OPEN } = operators.ProposalState

describe('after a crash of the resource server, a proposal is decided once, or open', () => {
  it.each<[string, PaymentPoint<Service>, decided: boolean | undefined]>([
    ['about to lock it', lock('before'), false],
    ['that has locked it', lock('after'), false],
    ['about to record the act, which is done', record('before'), false],
    ['that has recorded the act', record('after'), false],
    ['while it decides', decide('during'), false],
    ['that has decided, and not committed', decide('after'), false],
    ['about to commit', commit('before'), false],
    ['while it commits', commit('during'), undefined],
    ['that has committed, and not answered', commit('after'), true]
  ])(
    '%s',
    async (_moment, at, decided) => {
      const before = await system.balance('bob')
      const id = await proposeDeposit()
      const answer = approve(id).then(
        () => 'approved',
        (error: unknown) => {
          if (!isRpcError(error)) throw error
          return 'no answer'
        }
      )
      await system.crash([kill<Service>('resource-server', at)])
      expect(await answer).toBe('no answer')

      const found = await callUnary(
        system.actions['resource-server'],
        'getProposal',
        { proposalId: id },
        { idempotent: true }
      )
      const isDecided = found.proposal?.state === PROPOSAL_STATE_APPROVED
      if (!isDecided) expect(found.proposal?.state).toBe(PROPOSAL_STATE_OPEN)
      if (decided !== undefined) expect(isDecided).toBe(decided)
      expect(await system.balance('bob')).toBe(before + (isDecided ? MUCH : 0n))
      expect(await doneFor(id)).toEqual(isDecided ? ['ApproveProposal', 'Deposit'] : [])

      expect((await approve(id))?.state).toBe(PROPOSAL_STATE_APPROVED)
      expect(await system.balance('bob')).toBe(before + MUCH)
      expect(await doneFor(id)).toEqual(['ApproveProposal', 'Deposit'])
      expect(await system.audit()).toEqual([])
    },
    TIMEOUT_MS
  )

  /** The methods of acts that are recorded as done for a proposal, in the order of their names. */
  async function doneFor(proposalId: string): Promise<string[]> {
    const rows = await system.resourceDatabase.query<{ method: string }>(
      `select method from operator_action where proposal_id = $1 and outcome = 'done'`,
      [proposalId]
    )
    return rows.map(({ method }) => method.split('/').at(-1) ?? '').toSorted()
  }
})
