import { createHash } from 'node:crypto'
import {
  instantText,
  placeholder,
  type RawQueries,
  type Sql,
  sql,
  Statement
} from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { Actor, Role } from '../operator.js'
import type { Subject } from './act.js'

/** How an act ended. */
export type ActionOutcome = 'done' | 'unchanged' | 'refused' | 'proposed'

/** What is known of an act when it begins. */
export interface NewAction {
  /** Id (UUID). */
  readonly id: string
  readonly actor: Actor
  readonly role: Role
  /** Full name of the method. */
  readonly method: string
  readonly subject: Subject
  /** JSON text, without secrets. */
  readonly request: string
  /** Empty for none. */
  readonly reason: string
  readonly actedAtMs: number
  /** Id (UUID) of the proposal that it makes or carries out. */
  readonly proposalId: string | undefined
  /** The second person; undefined unless one was needed. */
  readonly approver: Actor | undefined
}

/** How an act ended, and what it changed. */
export interface ActionEnd {
  readonly outcome: ActionOutcome
  /** Why it was refused; undefined unless it was. */
  readonly problem?: string | undefined
  /** JSON text of the subject; undefined when there was none. */
  readonly before?: string | undefined
  readonly after?: string | undefined
  readonly endedAtMs: number
}

/** A recorded act. */
export interface RecordedAction extends NewAction {
  /** undefined while it has not ended, or after it was interrupted. */
  readonly end: ActionEnd | undefined
}

const [ID, BEFORE, AFTER, OUTCOME, PROBLEM, ENDED_AT, SUBJECT] = [
  sql`${placeholder('id')}::uuid`,
  sql`${placeholder('before')}::json`,
  sql`${placeholder('after')}::json`,
  sql`${placeholder('outcome')}::text`,
  sql`${placeholder('problem')}::text`,
  sql`${placeholder('endedAt')}::timestamptz`,
  sql`${placeholder('subject')}::text`
]

const INSERT = new Statement(
  'record-operator-action',
  sql`
  insert into operator_action (id, operator, operator_issuer, operator_sub, operator_name, role, method, subject_kind, subject, request,
                               reason, acted_at, proposal_id, approver, approver_issuer, approver_sub, approver_name,
                               before, after, outcome, problem, ended_at)
  values (${ID}, ${placeholder('operator')}::text, ${placeholder('operatorIssuer')}::text, ${placeholder('operatorSub')}::text,
          ${placeholder('operatorName')}::text, ${placeholder('role')}::text, ${placeholder('method')}::text,
          ${placeholder('subjectKind')}::text, ${SUBJECT}, ${placeholder('request')}::json, ${placeholder('reason')}::text,
          ${placeholder('actedAt')}::timestamptz, ${placeholder('proposalId')}::uuid, ${placeholder('approver')}::text,
          ${placeholder('approverIssuer')}::text, ${placeholder('approverSub')}::text, ${placeholder('approverName')}::text,
          ${BEFORE}, ${AFTER}, ${OUTCOME}, ${PROBLEM}, ${ENDED_AT})`,
  { prepared: false }
)

/**
 * Records an act.
 *
 * @param end undefined for one that has only begun
 */
export async function recordAction(
  on: RawQueries,
  action: NewAction,
  end: ActionEnd | undefined
): Promise<void> {
  await INSERT.rows(on, {
    id: action.id,
    ...actorValues('operator', action.actor),
    ...actorValues('approver', action.approver),
    role: action.role,
    method: action.method,
    subjectKind: action.subject.kind,
    request: action.request,
    reason: action.reason,
    actedAt: instantText(action.actedAtMs),
    proposalId: action.proposalId ?? null,
    ...endValues(action.subject, end)
  })
}

const COMPLETE = new Statement(
  'complete-operator-action',
  sql`
  update operator_action
     set subject = ${SUBJECT}, before = ${BEFORE}, after = ${AFTER}, outcome = ${OUTCOME}, problem = ${PROBLEM}, ended_at = ${ENDED_AT}
   where id = ${ID}`,
  { prepared: false }
)

/** Records how an act ended that had only begun. */
export async function completeAction(
  on: RawQueries,
  { id, subject }: NewAction,
  end: ActionEnd
): Promise<void> {
  await COMPLETE.rows(on, { id, ...endValues(subject, end) })
}

function endValues({ name }: Subject, end: ActionEnd | undefined): Record<string, unknown> {
  return {
    subject: name,
    before: end?.before ?? null,
    after: end?.after ?? null,
    outcome: end?.outcome ?? null,
    problem: end?.problem ?? null,
    endedAt: end === undefined ? null : instantText(end.endedAtMs)
  }
}

/** The values of columns `<prefix>`, `<prefix>_issuer`, `<prefix>_sub` and `<prefix>_name`. */
export function actorValues(prefix: string, actor: Actor | undefined): Record<string, string | null> {
  return {
    [prefix]: actor?.key ?? null,
    [`${prefix}Issuer`]: actor?.person?.issuer ?? null,
    [`${prefix}Sub`]: actor?.person?.sub ?? null,
    [`${prefix}Name`]: actor?.person?.name ?? null
  }
}

/** Who is in such columns. */
export function readActor(
  key: string,
  issuer: string | null,
  sub: string | null,
  name: string | null,
  tokenSub: string | null = null
): Actor {
  if (issuer === null || sub === null) return { key, person: undefined }
  return { key, person: { issuer, sub, name: name ?? '', tokenSub: tokenSub ?? undefined } }
}

const LOCK = new Statement(
  'lock-operated-subject',
  sql`select pg_advisory_xact_lock(hashtextextended(${placeholder('key')}::text, 0))::text as locked`,
  { prepared: false }
)

/** Makes other acts that lock the same wait for the end of the transaction. */
export async function lockActs(transaction: RawQueries, key: string): Promise<void> {
  // Texts may be long, and hold what PostgreSQL cannot.
  const hash = createHash('sha256').update(key).digest('base64url')
  await LOCK.rows(transaction, { key: `operator-action ${hash}` })
}

/** Which acts are listed; all conditions apply. */
export interface ActionFilter {
  /** Key of who ordered or approved it. */
  readonly operator: string | undefined
  readonly subject: string | undefined
  readonly fromMs: number | undefined
  /** Before this instant. */
  readonly toMs: number | undefined
  readonly after: PageEnd | undefined
  readonly limit: number
}

interface ActionRow {
  readonly id: string
  readonly operator: string
  readonly operator_issuer: string | null
  readonly operator_sub: string | null
  readonly operator_name: string | null
  readonly role: Role
  readonly method: string
  readonly subject_kind: Subject['kind']
  readonly subject: string
  readonly request: string
  readonly reason: string
  readonly acted_at: Date
  readonly proposal_id: string | null
  readonly approver: string | null
  readonly approver_issuer: string | null
  readonly approver_sub: string | null
  readonly approver_name: string | null
  readonly before: string | null
  readonly after: string | null
  readonly outcome: ActionOutcome | null
  readonly problem: string | null
  readonly ended_at: Date | null
}

const COLUMNS = sql`
  id, operator, operator_issuer, operator_sub, operator_name, role, method, subject_kind, subject, request::text as request, reason,
  acted_at, proposal_id, approver, approver_issuer, approver_sub, approver_name, before::text as before, after::text as after, outcome,
  problem, ended_at`

const [BY, CONCERNING, FROM, TO, AFTER_AT, AFTER_ID, LIMIT] = [
  sql`${placeholder('operator')}::text`,
  sql`${placeholder('subject')}::text`,
  sql`${placeholder('from')}::timestamptz`,
  sql`${placeholder('to')}::timestamptz`,
  sql`${placeholder('afterAt')}::timestamptz`,
  sql`${placeholder('afterId')}::uuid`,
  sql`${placeholder('limit')}::integer`
]

// Bounds that nobody asked for are infinite: so each of these reads an index from where the page begins, however it is planned.
const WITHIN = sql`acted_at >= ${FROM} and acted_at < ${TO} and (acted_at, id) < (${AFTER_AT}, ${AFTER_ID})`
const ON_SUBJECT = sql`subject = ${CONCERNING} and ${WITHIN}`
const NEWEST = sql`order by acted_at desc, id desc limit ${LIMIT}`

const listing = (name: string, condition: Sql): Statement<ActionRow> =>
  new Statement(name, sql`select ${COLUMNS} from operator_action where ${condition} ${NEWEST}`, {
    prepared: false
  })
const listingBy = (name: string, condition: Sql): Statement<ActionRow> =>
  new Statement(
    name,
    sql`
    select ${COLUMNS} from (
      (select * from operator_action where operator = ${BY} and ${condition} ${NEWEST})
      union all
      (select * from operator_action where approver = ${BY} and operator <> ${BY} and ${condition} ${NEWEST})) found
     ${NEWEST}`,
    { prepared: false }
  )

const LIST = listing('list-operator-actions', WITHIN)
const LIST_ON = listing('list-actions-on-subject', ON_SUBJECT)
const LIST_BY = listingBy('list-actions-of-operator', WITHIN)
const LIST_BY_ON = listingBy('list-actions-of-operator-on-subject', ON_SUBJECT)

/** A position before the newest that there can be. */
const NEWEST_POSSIBLE = { afterAt: 'infinity', afterId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }

/** The values `afterAt` and `afterId` of a list, the newest first. */
export function pageValues(after: PageEnd | undefined): typeof NEWEST_POSSIBLE {
  return after === undefined
    ? NEWEST_POSSIBLE
    : { afterAt: instantText(after.createdAtMs), afterId: after.id }
}

/** Lists acts, newest first. */
export async function listActions(on: RawQueries, filter: ActionFilter): Promise<readonly RecordedAction[]> {
  const { operator, subject, fromMs, toMs, after, limit } = filter
  const values = {
    ...(operator === undefined ? {} : { operator }),
    ...(subject === undefined ? {} : { subject }),
    from: fromMs === undefined ? '-infinity' : instantText(fromMs),
    to: toMs === undefined ? 'infinity' : instantText(toMs),
    ...pageValues(after),
    limit
  }
  const [all, ofSubject] = operator === undefined ? [LIST, LIST_ON] : [LIST_BY, LIST_BY_ON]
  const statement = subject === undefined ? all : ofSubject
  return (await statement.rows(on, values)).map(readAction)
}

function readAction(row: ActionRow): RecordedAction {
  const { approver, outcome, ended_at: endedAt } = row
  return {
    id: row.id,
    actor: readActor(row.operator, row.operator_issuer, row.operator_sub, row.operator_name),
    role: row.role,
    method: row.method,
    subject: { kind: row.subject_kind, name: row.subject },
    request: row.request,
    reason: row.reason,
    actedAtMs: row.acted_at.getTime(),
    proposalId: row.proposal_id ?? undefined,
    approver:
      approver === null
        ? undefined
        : readActor(approver, row.approver_issuer, row.approver_sub, row.approver_name),
    end:
      outcome === null || endedAt === null
        ? undefined
        : {
            outcome,
            problem: row.problem ?? undefined,
            before: row.before ?? undefined,
            after: row.after ?? undefined,
            endedAtMs: endedAt.getTime()
          }
  }
}
