import { createHash } from 'node:crypto'
import { instantText, placeholder, type RawQueries, sql, Statement } from '@open-payments-server/database'
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
  { id }: NewAction,
  subject: Subject,
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
  name: string | null
): Actor {
  const person = issuer === null || sub === null ? undefined : { issuer, sub, name: name ?? '' }
  return { key, person }
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

const WITHIN = sql`
      (${CONCERNING} is null or subject = ${CONCERNING})
  and (${FROM} is null or acted_at >= ${FROM}) and (${TO} is null or acted_at < ${TO})
  and (${AFTER_AT} is null or (acted_at, id) < (${AFTER_AT}, ${AFTER_ID}))`
const NEWEST = sql`order by acted_at desc, id desc limit ${LIMIT}`

// Planned anew each time, so that conditions nobody asked for are none, and each of these reads an index from its end.
const LIST = new Statement<ActionRow>(
  'list-operator-actions',
  sql`select ${COLUMNS} from operator_action where ${WITHIN} ${NEWEST}`,
  { prepared: false }
)
const LIST_BY = new Statement<ActionRow>(
  'list-actions-of-operator',
  sql`
  select ${COLUMNS} from (
    (select * from operator_action where operator = ${BY} and ${WITHIN} ${NEWEST})
    union all
    (select * from operator_action where approver = ${BY} and operator <> ${BY} and ${WITHIN} ${NEWEST})) found
   ${NEWEST}`,
  { prepared: false }
)

/** Lists acts, newest first. */
export async function listActions(on: RawQueries, filter: ActionFilter): Promise<readonly RecordedAction[]> {
  const { operator, subject, fromMs, toMs, after, limit } = filter
  const values = {
    operator: operator ?? null,
    subject: subject ?? null,
    from: fromMs === undefined ? null : instantText(fromMs),
    to: toMs === undefined ? null : instantText(toMs),
    afterAt: after === undefined ? null : instantText(after.createdAtMs),
    afterId: after?.id ?? null,
    limit
  }
  const statement = operator === undefined ? LIST : LIST_BY
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
