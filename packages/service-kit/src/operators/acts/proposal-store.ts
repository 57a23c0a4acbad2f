import {
  bytesText,
  instantText,
  placeholder,
  type RawQueries,
  readBytes,
  sql,
  Statement
} from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { Actor } from '../operator.js'
import type { Subject } from './act.js'
import { actorValues, pageValues, readActor } from './action-store.js'

/** How a proposal was decided. */
export type ProposalDecision = 'approved' | 'rejected'

/** An act that awaits a second person. */
export interface NewProposal {
  /** Id (UUID). */
  readonly id: string
  /** Full name of the method. */
  readonly method: string
  readonly subject: Subject
  /** JSON text. */
  readonly request: string
  /** The request as it is called again, encoded. */
  readonly requestBytes: Buffer
  /** SHA-256 of that. */
  readonly requestHash: Buffer
  /** JSON text of the subject when it was proposed; undefined when there was none. */
  readonly before: string | undefined
  /** JSON text of the subject as it would have been after it. */
  readonly after: string | undefined
  readonly reason: string
  readonly proposer: Actor
  readonly proposedAtMs: number
  readonly expiresAtMs: number
}

/** A proposal, and what was decided about it. */
export interface Proposal extends NewProposal {
  readonly decided:
    | {
        readonly decision: ProposalDecision
        readonly by: Actor
        readonly atMs: number
        readonly reason: string
      }
    | undefined
}

interface ProposalRow {
  readonly id: string
  readonly method: string
  readonly subject_kind: Subject['kind']
  readonly subject: string
  readonly request: string
  readonly request_bytes: string
  readonly request_hash: string
  readonly before: string | null
  readonly after: string | null
  readonly reason: string
  readonly proposer: string
  readonly proposer_issuer: string | null
  readonly proposer_sub: string | null
  readonly proposer_name: string | null
  readonly proposer_token_sub: string | null
  readonly proposed_at: Date
  readonly expires_at: Date
  readonly decision: ProposalDecision | null
  readonly decider: string | null
  readonly decider_issuer: string | null
  readonly decider_sub: string | null
  readonly decider_name: string | null
  readonly decided_at: Date | null
  readonly decision_reason: string | null
}

const COLUMNS = sql`
  id, method, subject_kind, subject, request::text as request, request_bytes, request_hash, before::text as before, after::text as after,
  reason, proposer, proposer_issuer, proposer_sub, proposer_name, proposer_token_sub, proposed_at, expires_at, decision, decider, decider_issuer, decider_sub,
  decider_name, decided_at, decision_reason`

const INSERT = new Statement(
  'propose-operator-action',
  sql`
  insert into operator_proposal (id, method, subject_kind, subject, request, request_bytes, request_hash, before, after, reason,
                                 proposer, proposer_issuer, proposer_sub, proposer_name, proposer_token_sub, proposed_at, expires_at)
  values (${placeholder('id')}::uuid, ${placeholder('method')}::text, ${placeholder('subjectKind')}::text, ${placeholder('subject')}::text,
          ${placeholder('request')}::json, ${placeholder('requestBytes')}::bytea, ${placeholder('requestHash')}::bytea,
          ${placeholder('before')}::json, ${placeholder('after')}::json, ${placeholder('reason')}::text, ${placeholder('proposer')}::text,
          ${placeholder('proposerIssuer')}::text, ${placeholder('proposerSub')}::text, ${placeholder('proposerName')}::text,
          ${placeholder('proposerTokenSub')}::text,
          ${placeholder('proposedAt')}::timestamptz, ${placeholder('expiresAt')}::timestamptz)`,
  { prepared: false }
)

/** Keeps a proposal. */
export async function insertProposal(on: RawQueries, proposal: NewProposal): Promise<void> {
  await INSERT.rows(on, {
    id: proposal.id,
    method: proposal.method,
    subjectKind: proposal.subject.kind,
    subject: proposal.subject.name,
    request: proposal.request,
    requestBytes: bytesText(proposal.requestBytes),
    requestHash: bytesText(proposal.requestHash),
    before: proposal.before ?? null,
    after: proposal.after ?? null,
    reason: proposal.reason,
    ...actorValues('proposer', proposal.proposer),
    proposerTokenSub: proposal.proposer.person?.tokenSub ?? null,
    proposedAt: instantText(proposal.proposedAtMs),
    expiresAt: instantText(proposal.expiresAtMs)
  })
}

const FIND_SAME = new Statement<ProposalRow>(
  'find-same-proposal',
  sql`
  select ${COLUMNS} from operator_proposal
   where decision is null and proposer = ${placeholder('proposer')}::text and method = ${placeholder('method')}::text
     and request_hash = ${placeholder('requestHash')}::bytea and expires_at > ${placeholder('now')}::timestamptz
   order by proposed_at desc, id desc limit 1`,
  { prepared: false }
)

/** The newest proposal of the same act by the same operator that still awaits a decision. */
export async function findSameProposal(
  on: RawQueries,
  { proposer, method, requestHash }: Pick<NewProposal, 'proposer' | 'method' | 'requestHash'>,
  nowMs: number
): Promise<Proposal | undefined> {
  const values = {
    proposer: proposer.key,
    method,
    requestHash: bytesText(requestHash),
    now: instantText(nowMs)
  }
  const [row] = await FIND_SAME.rows(on, values)
  return row && readProposal(row)
}

const FIND = new Statement<ProposalRow>(
  'find-proposal',
  sql`select ${COLUMNS} from operator_proposal where id = ${placeholder('id')}::uuid`,
  { prepared: false }
)

/** Finds a proposal by its id (UUID). */
export async function findProposal(on: RawQueries, id: string): Promise<Proposal | undefined> {
  const [row] = await FIND.rows(on, { id })
  return row && readProposal(row)
}

const LOCK = new Statement(
  'lock-proposal',
  sql`select id from operator_proposal where id = ${placeholder('id')}::uuid for update`,
  { prepared: false }
)

/** Finds a proposal, and makes others who would decide wait for the end of the transaction. */
export async function lockProposal(transaction: RawQueries, id: string): Promise<Proposal | undefined> {
  await LOCK.rows(transaction, { id })
  // A statement of its own: it sees what whoever had the lock before decided.
  return findProposal(transaction, id)
}

const DECIDE = new Statement(
  'decide-proposal',
  sql`
  update operator_proposal
     set decision = ${placeholder('decision')}::text, decider = ${placeholder('decider')}::text,
         decider_issuer = ${placeholder('deciderIssuer')}::text, decider_sub = ${placeholder('deciderSub')}::text,
         decider_name = ${placeholder('deciderName')}::text, decided_at = ${placeholder('now')}::timestamptz,
         decision_reason = ${placeholder('reason')}::text
   where id = ${placeholder('id')}::uuid`,
  { prepared: false }
)

/** Records the decision about a proposal that is locked. */
export async function decideProposal(
  transaction: RawQueries,
  id: string,
  { decision, by, atMs, reason }: NonNullable<Proposal['decided']>
): Promise<void> {
  await DECIDE.rows(transaction, {
    id,
    decision,
    ...actorValues('decider', by),
    now: instantText(atMs),
    reason
  })
}

/** Which proposals are listed. */
export interface ProposalFilter {
  /** undefined for all. */
  readonly state: ProposalDecision | 'open' | 'expired' | undefined
  readonly nowMs: number
  readonly after: PageEnd | undefined
  readonly limit: number
}

const [STATE, NOW, AFTER_AT] = [
  sql`${placeholder('state')}::text`,
  sql`${placeholder('now')}::timestamptz`,
  sql`${placeholder('afterAt')}::timestamptz`
]

const PAGE = sql`
     and (proposed_at, id) < (${AFTER_AT}, ${placeholder('afterId')}::uuid)
   order by proposed_at desc, id desc limit ${placeholder('limit')}::integer`

const LIST = new Statement<ProposalRow>(
  'list-proposals',
  sql`
  select ${COLUMNS} from operator_proposal
   where (${STATE} is null
          or decision = ${STATE}
          or (${STATE} = 'expired' and decision is null and expires_at <= ${NOW}))${PAGE}`,
  { prepared: false }
)

/** Those that await a decision have an index of their own: they are few among all that were ever proposed. */
const LIST_OPEN = new Statement<ProposalRow>(
  'list-open-proposals',
  sql`select ${COLUMNS} from operator_proposal where decision is null and expires_at > ${NOW}${PAGE}`,
  { prepared: false }
)

/** Lists proposals, newest first. */
export async function listProposals(on: RawQueries, filter: ProposalFilter): Promise<readonly Proposal[]> {
  const { state, nowMs, after, limit } = filter
  const page = {
    now: instantText(nowMs),
    ...pageValues(after),
    limit
  }
  const rows =
    state === 'open' ? await LIST_OPEN.rows(on, page) : await LIST.rows(on, { ...page, state: state ?? null })
  return rows.map(readProposal)
}

function readProposal(row: ProposalRow): Proposal {
  const { decision, decider, decided_at: decidedAt } = row
  return {
    id: row.id,
    method: row.method,
    subject: { kind: row.subject_kind, name: row.subject },
    request: row.request,
    requestBytes: readBytes(row.request_bytes),
    requestHash: readBytes(row.request_hash),
    before: row.before ?? undefined,
    after: row.after ?? undefined,
    reason: row.reason,
    proposer: readActor(
      row.proposer,
      row.proposer_issuer,
      row.proposer_sub,
      row.proposer_name,
      row.proposer_token_sub
    ),
    proposedAtMs: row.proposed_at.getTime(),
    expiresAtMs: row.expires_at.getTime(),
    decided:
      decision === null || decider === null || decidedAt === null
        ? undefined
        : {
            decision,
            by: readActor(decider, row.decider_issuer, row.decider_sub, row.decider_name),
            atMs: decidedAt.getTime(),
            reason: row.decision_reason ?? ''
          }
  }
}
