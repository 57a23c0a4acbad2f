import type { RawQueries } from '@open-payments-server/database'
import {
  type AllowedClients,
  type CallObserver,
  createHandlers,
  type GrpcService
} from '@open-payments-server/grpc-transport'
import { operators as contract } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import {
  cutPage,
  invalidField,
  readInstant,
  readPageSize,
  readPageToken,
  writePageToken
} from '../../grpc/index.js'
import { admitOperators, type OperatorContext, type Operators } from '../admission.js'
import { type Actor, ROLES, type RolesOf } from '../operator.js'
import { type ActionOutcome, listActions, type RecordedAction } from './action-store.js'
import type { Acts } from './acts.js'
import { findProposal, listProposals, type Proposal, type ProposalFilter } from './proposal-store.js'
import { noProposal } from './refusals.js'

/** Maximum length of the reason for a decision, in characters. */
const REASON_LENGTH_MAX = 256
/** Maximum length of a condition, in characters: more than any that is recorded. */
const CONDITION_LENGTH_MAX = 4_096

/** The roles of `OperatorActionService`, the same in every service. */
export const ACTION_ROLES: RolesOf<typeof contract.OperatorActionServiceService> = {
  getOperator: 'viewer',
  listOperatorActions: 'viewer',
  listProposals: 'viewer',
  getProposal: 'viewer',
  approveProposal: 'approver',
  rejectProposal: 'approver'
}

/** What telling of acts, and deciding about proposals, needs. */
export interface ActionServiceDependencies {
  readonly database: RawQueries
  readonly acts: Pick<Acts<RawQueries, object>, 'approve' | 'reject'>
  /** Maps the refusals of the service's acts to errors of the contract. */
  readonly answer: <Parameters extends readonly unknown[], Result>(
    handler: (...parameters: Parameters) => Promise<Result>
  ) => (...parameters: Parameters) => Promise<Result>
  readonly clock: Clock
  readonly logger: Logger
  readonly callObserver?: CallObserver | undefined
  /** Who may call when clients present certificates. */
  readonly clients: AllowedClients
  readonly operators: Operators
}

/** `OperatorActionService`: the same in every service, for its own acts. */
export function createActionService(dependencies: ActionServiceDependencies): GrpcService {
  const { logger, callObserver, operators, answer, acts } = dependencies
  const definition = contract.OperatorActionServiceService
  const service = { definition, roles: ACTION_ROLES }
  const handlers = admitOperators(createHandlers(logger, callObserver), service, { ...operators, logger })
  const decided = async (
    decide: 'approve' | 'reject',
    { proposalId, reason }: contract.ApproveProposalRequest,
    context: OperatorContext
  ) => {
    const decision = { id: readProposalId(proposalId), reason: readReason(reason) }
    return { proposal: proposalMessage(await acts[decide](decision, context), dependencies) }
  }
  const implementation: contract.OperatorActionServiceServer = {
    getOperator: handlers.unary((_request: contract.GetOperatorRequest, { actor, roles }) =>
      Promise.resolve({ operator: operatorMessage(actor), roles: ROLES.filter((role) => roles.has(role)) })
    ),
    listOperatorActions: handlers.unary(
      answer((request: contract.ListOperatorActionsRequest) => actions(request, dependencies))
    ),
    listProposals: handlers.unary(
      answer((request: contract.ListProposalsRequest) => proposals(request, dependencies))
    ),
    getProposal: handlers.unary(
      answer((request: contract.GetProposalRequest) => proposal(request, dependencies))
    ),
    approveProposal: handlers.unary(
      answer((request: contract.ApproveProposalRequest, context: OperatorContext) =>
        decided('approve', request, context)
      )
    ),
    rejectProposal: handlers.unary(
      answer((request: contract.RejectProposalRequest, context: OperatorContext) =>
        decided('reject', request, context)
      )
    )
  }
  return { definition, implementation, clients: dependencies.clients }
}

async function actions(
  request: contract.ListOperatorActionsRequest,
  { database }: ActionServiceDependencies
): Promise<contract.ListOperatorActionsResponse> {
  const size = readPageSize(request.pageSize)
  const found = await listActions(database, {
    operator: readCondition(request.operator, 'operator'),
    subject: readCondition(request.subject, 'subject'),
    fromMs: readInstant(request.fromTime, 'from_time'),
    toMs: readInstant(request.toTime, 'to_time'),
    after: readPageToken(request.pageToken),
    limit: size + 1
  })
  const { items, nextPageToken } = cutPage(found, size, ({ id, actedAtMs }) =>
    writePageToken({ id, createdAtMs: actedAtMs })
  )
  return { actions: items.map(actionMessage), nextPageToken }
}

async function proposals(
  request: contract.ListProposalsRequest,
  dependencies: ActionServiceDependencies
): Promise<contract.ListProposalsResponse> {
  const { database, clock } = dependencies
  const size = readPageSize(request.pageSize)
  const found = await listProposals(database, {
    state: readState(request.state),
    nowMs: clock.now(),
    after: readPageToken(request.pageToken),
    limit: size + 1
  })
  const { items, nextPageToken } = cutPage(found, size, ({ id, proposedAtMs }) =>
    writePageToken({ id, createdAtMs: proposedAtMs })
  )
  return { proposals: items.map((item) => proposalMessage(item, dependencies)), nextPageToken }
}

async function proposal(
  { proposalId }: contract.GetProposalRequest,
  dependencies: ActionServiceDependencies
): Promise<contract.GetProposalResponse> {
  const found = await findProposal(dependencies.database, readProposalId(proposalId))
  if (found === undefined) throw noProposal()
  return { proposal: proposalMessage(found, dependencies) }
}

function readProposalId(id: string): string {
  if (!isUuid(id)) throw invalidField('proposal_id', 'must be a UUID in lower case')
  return id
}

function readReason(reason: string): string {
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a reason
  if (reason.length <= REASON_LENGTH_MAX && !/[\u0000-\u001f\u007f]/.test(reason)) return reason
  throw invalidField(
    'reason',
    `must be at most ${String(REASON_LENGTH_MAX)} characters, none of them control characters`
  )
}

function readCondition(text: string, field: string): string | undefined {
  if (text === '') return undefined
  if (text.length > CONDITION_LENGTH_MAX || text.includes('\0'))
    throw invalidField(
      field,
      `must be at most ${String(CONDITION_LENGTH_MAX)} characters, none of them U+0000`
    )
  return text
}

const STATES: ReadonlyMap<contract.ProposalState, ProposalFilter['state']> = new Map([
  [contract.ProposalState.PROPOSAL_STATE_UNSPECIFIED, undefined],
  [contract.ProposalState.PROPOSAL_STATE_OPEN, 'open'],
  [contract.ProposalState.PROPOSAL_STATE_APPROVED, 'approved'],
  [contract.ProposalState.PROPOSAL_STATE_REJECTED, 'rejected'],
  [contract.ProposalState.PROPOSAL_STATE_EXPIRED, 'expired']
])

function readState(state: contract.ProposalState): ProposalFilter['state'] {
  if (!STATES.has(state)) throw invalidField('state', 'must be a state of a proposal')
  return STATES.get(state)
}

const OUTCOMES: Readonly<Record<ActionOutcome, contract.ActionOutcome>> = {
  done: contract.ActionOutcome.ACTION_OUTCOME_DONE,
  unchanged: contract.ActionOutcome.ACTION_OUTCOME_UNCHANGED,
  refused: contract.ActionOutcome.ACTION_OUTCOME_REFUSED,
  proposed: contract.ActionOutcome.ACTION_OUTCOME_PROPOSED
}

function actionMessage(action: RecordedAction): contract.OperatorAction {
  const { actor, approver, subject, end } = action
  return {
    id: action.id,
    operator: operatorMessage(actor),
    role: action.role,
    method: action.method,
    subjectKind: subject.kind,
    subject: subject.name,
    request: action.request,
    before: end?.before ?? '',
    after: end?.after ?? '',
    reason: action.reason,
    actTime: new Date(action.actedAtMs),
    completeTime: end && new Date(end.endedAtMs),
    outcome: end === undefined ? contract.ActionOutcome.ACTION_OUTCOME_UNSPECIFIED : OUTCOMES[end.outcome],
    problem: end?.problem ?? '',
    proposalId: action.proposalId ?? '',
    approvedBy: approver && operatorMessage(approver)
  }
}

function proposalMessage(
  found: Proposal,
  { clock }: Pick<ActionServiceDependencies, 'clock'>
): contract.Proposal {
  const { decided, subject } = found
  return {
    id: found.id,
    state: stateOf(found, clock.now()),
    method: found.method,
    subjectKind: subject.kind,
    subject: subject.name,
    request: found.request,
    requestHash: found.requestHash,
    before: found.before ?? '',
    after: found.after ?? '',
    reason: found.reason,
    proposedBy: operatorMessage(found.proposer),
    createTime: new Date(found.proposedAtMs),
    expireTime: new Date(found.expiresAtMs),
    decidedBy: decided && operatorMessage(decided.by),
    decideTime: decided && new Date(decided.atMs),
    decisionReason: decided?.reason ?? ''
  }
}

function stateOf({ decided, expiresAtMs }: Proposal, nowMs: number): contract.ProposalState {
  if (decided?.decision === 'approved') return contract.ProposalState.PROPOSAL_STATE_APPROVED
  if (decided?.decision === 'rejected') return contract.ProposalState.PROPOSAL_STATE_REJECTED
  return expiresAtMs <= nowMs
    ? contract.ProposalState.PROPOSAL_STATE_EXPIRED
    : contract.ProposalState.PROPOSAL_STATE_OPEN
}

function operatorMessage({ key, person }: Actor): contract.Operator {
  return person === undefined ? { issuer: '', sub: '', name: '', machine: key } : { ...person, machine: '' }
}
