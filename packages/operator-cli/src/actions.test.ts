import {
  createHandlers,
  RpcError,
  type RunningGrpcServer,
  startGrpcServer,
  status
} from '@open-payments-server/grpc-transport'
import { fileDescriptors, operators } from '@open-payments-server/proto'
import { createLogger } from '@open-payments-server/runtime'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { runCli } from './run-cli.js'

const OLGA = { issuer: 'https://login.test', sub: 'olga-7', name: 'Olga', machine: '' }
const TOM = { ...OLGA, sub: 'tom-8', name: '' }
const MACHINE = { issuer: '', sub: '', name: '', machine: 'spiffe://wallet.test/night' }
const ID = '019b76da-a800-7000-8000-000000000001'

const act = (minute: number, more: Partial<operators.OperatorAction>): operators.OperatorAction => ({
  ...operators.OperatorAction.fromPartial({}),
  id: ID,
  operator: OLGA,
  role: 'operator',
  method: '/openpayments.wallet.v1.WalletOperatorService/Deposit',
  subjectKind: 'account',
  subject: 'carol',
  request: '{"value":"500"}',
  actTime: new Date(Date.UTC(2026, 10, 28, 9, minute)),
  outcome: operators.ActionOutcome.ACTION_OUTCOME_DONE,
  ...more
})

const asked: unknown[] = []
let proposal: operators.Proposal = {
  ...operators.Proposal.fromPartial({}),
  id: ID,
  state: operators.ProposalState.PROPOSAL_STATE_OPEN,
  method: '/openpayments.wallet.v1.WalletOperatorService/Deposit',
  subjectKind: 'account',
  subject: 'carol',
  request: '{"value":"2000000"}',
  requestHash: Buffer.from('ab', 'hex'),
  proposedBy: OLGA,
  expireTime: new Date('2026-11-29T09:00:00Z')
}

/** A service with these acts, and perhaps the proposal. */
async function start(actions: operators.OperatorAction[], hasProposal: boolean): Promise<RunningGrpcServer> {
  const logger = createLogger({ service: 'fake', level: 'silent' })
  const { unary } = createHandlers(logger)
  const find = (id: string): operators.Proposal => {
    if (hasProposal && id === ID) return proposal
    throw new RpcError({ code: status.NOT_FOUND, message: 'there is no such proposal', field: 'proposal_id' })
  }
  const decide =
    (state: operators.ProposalState) =>
    ({ proposalId, reason }: operators.ApproveProposalRequest) => {
      proposal = { ...find(proposalId), state, decidedBy: TOM, decisionReason: reason }
      return Promise.resolve({ proposal })
    }
  return startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    services: [
      {
        definition: operators.OperatorActionServiceService,
        implementation: {
          getOperator: unary(() => Promise.resolve({ operator: OLGA, roles: ['viewer'] })),
          listOperatorActions: unary((request: operators.ListOperatorActionsRequest) => {
            asked.push(request)
            return Promise.resolve({ actions, nextPageToken: '' })
          }),
          listProposals: unary(({ state }: operators.ListProposalsRequest) =>
            Promise.resolve({
              proposals: hasProposal && [0, proposal.state].includes(state) ? [proposal] : [],
              nextPageToken: ''
            })
          ),
          getProposal: unary(({ proposalId }: operators.GetProposalRequest) =>
            Promise.resolve({ proposal: find(proposalId) })
          ),
          approveProposal: unary(decide(operators.ProposalState.PROPOSAL_STATE_APPROVED)),
          rejectProposal: unary(decide(operators.ProposalState.PROPOSAL_STATE_REJECTED))
        },
        clients: { everyMethod: [] }
      }
    ],
    reflection: false,
    fileDescriptors,
    logger,
    connectionAgeMaxMs: 60_000,
    messageBytesMax: 1_000_000
  })
}

let auth: RunningGrpcServer
let wallet: RunningGrpcServer
beforeAll(async () => {
  auth = await start(
    [act(2, { operator: MACHINE, subjectKind: 'client', subject: 'https://shop.test' })],
    false
  )
  wallet = await start([act(3, { approvedBy: TOM, proposalId: ID }), act(1, { reason: 'a refund' })], true)
})
afterAll(() => Promise.all([auth.stop(1_000), wallet.stop(1_000)]))

async function cli(...words: string[]): Promise<{ status: number; out: string; error: string }> {
  let [out, error] = ['', '']
  const exit = await runCli([...words, '--auth', auth.address, '--wallet', wallet.address], {
    name: 'cli',
    environment: {},
    stackFile: '/nonexistent/stack.json',
    stdout: (text) => {
      out += text
    },
    stderr: (text) => {
      error += text
    },
    colors: false,
    awaitInterruption: () => new AbortController().signal,
    openPage: () => undefined
  })
  return { status: exit, out, error }
}

describe('actions list', () => {
  it('lists what operators did in both services, the newest first', async () => {
    const { status: exit, out } = await cli('actions', 'list')
    expect(exit).toBe(0)
    const lines = out.split('\n').filter((line) => line.includes('2026-11-28'))
    expect(lines.map((line) => /T09:0(\d)/.exec(line)?.[1])).toEqual(['3', '2', '1'])
    expect(lines[0]).toContain('olga-7 at https://login.test (Olga), approved by tom-8 at https://login.test')
    expect(lines[1]).toContain('spiffe://wallet.test/night')
    expect(lines[2]).toContain('a refund')
  })

  it('asks for what is wanted, and tells programs all of it', async () => {
    asked.length = 0
    const filter = ['--subject', 'carol', '--by', 'olga-7 at https://login.test']
    const { out } = await cli('actions', 'list', ...filter, '--since', '2026-11-28T09:00:00Z', '--json')
    expect(asked).toHaveLength(2)
    expect(asked[0]).toMatchObject({
      subject: 'carol',
      operator: 'olga-7 at https://login.test',
      fromTime: new Date('2026-11-28T09:00:00Z'),
      toTime: undefined
    })
    const [newest] = JSON.parse(out) as unknown[]
    expect(newest).toMatchObject({
      service: 'resource-server',
      operator: { issuer: 'https://login.test', sub: 'olga-7', name: 'Olga' },
      request: { value: '500' },
      before: null,
      outcome: 'done',
      proposalId: ID,
      approvedBy: { sub: 'tom-8' }
    })
  })
})

describe('proposals', () => {
  it('are listed, shown and decided in the service that has them', async () => {
    expect((await cli('proposals', 'list')).out).toContain('Deposit {"value":"2000000"}')
    const shown = await cli('proposals', 'show', ID, '--json')
    expect(JSON.parse(shown.out)).toMatchObject({
      state: 'open',
      service: 'resource-server',
      requestHash: 'ab'
    })
    const approved = await cli('proposals', 'approve', ID, '--reason', 'seen', '--json')
    expect(JSON.parse(approved.out)).toMatchObject({
      state: 'approved',
      decidedBy: { sub: 'tom-8' },
      decisionReason: 'seen'
    })
    expect((await cli('proposals', 'list')).out).toBe('No proposals.\n')
    expect((await cli('proposals', 'list', '--state', 'approved')).out).toContain(ID)
    const rejected = await cli('proposals', 'reject', ID)
    expect(rejected.out).toContain('rejected')
  })

  it('that no service has are refused', async () => {
    const { status: exit, error } = await cli('proposals', 'approve', ID.replace(/1$/, '2'))
    expect([exit, error]).toEqual([1, 'error: there is no such proposal\n'])
  })
})
