import { instantText, placeholder } from '@open-payments-server/database'
import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import type { Approval, ApprovalDecision } from '../../domain/approval.js'
import { Prisma, type Queries } from '../database.js'

/** Fragment: the shortest time that an approval has. */
const INSTANT = Prisma.sql`interval '1 millisecond'`

/**
 * Fragment: the part `approval`, which requests approval of the payments of the part `payment` (`id`) for which the part `wanted`
 * (`id`) has an `approval_rule_id`. Its time ends no later than the terms of the payment do (`begin_until` of `wanted`; null: they do
 * not end), or at once if they ended while it was created. Takes `now` and `approvalExpiresAt`.
 */
export const requested = Prisma.sql`
  approval as (
    insert into payment_approval (payment_id, rule_id, requested_at, expires_at)
    select id, approval_rule_id, ${placeholder('now')}::timestamptz,
           greatest(least(${placeholder('approvalExpiresAt')}::timestamptz, begin_until), ${placeholder('now')}::timestamptz + ${INSTANT})
      from payment join wanted using (id)
     where approval_rule_id is not null order by id
  )`

/** Fragment, a condition: whether the time is over of the approval `a`, or is not. Takes `isOver` and `now`. */
const IS_IN_TIME = Prisma.sql`(a.expires_at <= ${placeholder('now')}::timestamptz) = ${placeholder('isOver')}::boolean`

/**
 * Fragment: the part `deciding` (`payment_id`), which locks the approval of a payment if it is undecided. Whoever decides locks it first, so that
 * of several only one decides. Takes `id`.
 */
const deciding = (fits: Prisma.Sql): Prisma.Sql => Prisma.sql`
  deciding as (
    select a.payment_id from payment_approval a
     where a.payment_id = ${placeholder('id')}::uuid and a.decision is null and ${fits}
       for update
  )`

/**
 * Fragment: the part `deciding` (`payment_id`), the approval to approve: its time is over or not, or it is not known whether it was approved
 * before. Takes `id`, `isOver` and `now`.
 *
 * @param mayBeSent a condition: whether the payment of the approval `a` may have been approved and sent, and this lost with commits
 */
export const approving = (mayBeSent: Prisma.Sql): Prisma.Sql =>
  deciding(Prisma.sql`(${IS_IN_TIME} or ${mayBeSent})`)

/**
 * Fragment: the part `deciding` (`payment_id`), the approval to decline: its time is over or not. What may have been sent is not declined. Takes
 * `id`, `isOver` and `now`.
 *
 * @param mayBeSent as of {@link approving}
 */
export const declining = (mayBeSent: Prisma.Sql): Prisma.Sql =>
  deciding(Prisma.sql`${IS_IN_TIME} and not ${mayBeSent}`)

/**
 * Fragment: the part `deciding` (`payment_id`), which locks approvals whose time is over, the oldest first, skipping locked ones:
 * somebody decides about these. Takes `limit` and `now`.
 *
 * @param mayBeSent as of {@link declining}
 */
export const overdue = (mayBeSent: Prisma.Sql): Prisma.Sql => Prisma.sql`
  deciding as (
    select a.payment_id from payment_approval a
     where a.decision is null and a.expires_at <= ${placeholder('now')}::timestamptz and not ${mayBeSent}
     order by a.expires_at, a.payment_id limit ${placeholder('limit')}::integer for update skip locked
  )`

/** Fragment, a condition: whether a payment met a rule, whatever was decided about it. */
export const metAnyRule = (paymentId: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`exists (select 1 from payment_approval a where a.payment_id = ${paymentId})`

/** Fragment: selects the payments (`payment_id`) that await approval. */
export const undecidedPayments = Prisma.sql`select payment_id from payment_approval where decision is null`

/**
 * Fragment: the part `decided`, which records the decision about the payments of the part `payment` (`id`). Takes `now`,
 * `decision`, `decidedBy` and `reason`. What is approved after its time, as it may have been approved and sent before, had time until then.
 */
export const decided = Prisma.sql`
  decided as (
    update payment_approval a
       set decision = ${placeholder('decision')}::text, decided_at = ${placeholder('now')}::timestamptz,
           decided_by = ${placeholder('decidedBy')}::text, reason = ${placeholder('reason')}::text,
           expires_at = case ${placeholder('decision')}::text
                          when 'approved' then greatest(a.expires_at, ${placeholder('now')}::timestamptz + ${INSTANT})
                          else a.expires_at end
      from payment
     where a.payment_id = payment.id and a.payment_id = any(array(select id from payment))
    returning a.payment_id
  )`

/** Those of some payments (UUID) that await approval. */
export async function findAwaiting(on: Queries, paymentIds: readonly string[]): Promise<ReadonlySet<string>> {
  const where = { paymentId: { in: [...paymentIds] }, decision: null }
  const found = await on.paymentApproval.findMany({ where, select: { paymentId: true } })
  return new Set(found.map(({ paymentId }) => paymentId))
}

/** Whether there are approvals whose time is over. Locks nothing. */
export async function isAnyOverdue(on: Queries, nowMs: number): Promise<boolean> {
  const where = { decision: null, expiresAt: { lte: new Date(nowMs) } }
  return (await on.paymentApproval.findFirst({ where, select: { paymentId: true } })) !== null
}

/** A decision to be recorded. */
export interface NewDecision {
  readonly decision: ApprovalDecision
  /** Name in the certificate of whoever decides. */
  readonly by: string | undefined
  readonly reason: string | undefined
  readonly atMs: number
}

/** The parameters of {@link decided}. */
export function decidingParameters({ decision, by, reason, atMs }: NewDecision): Record<string, unknown> {
  return { decision, decidedBy: by ?? null, reason: reason ?? null, now: instantText(atMs) }
}

/** A payment that awaits approval. */
export interface AwaitingPayment {
  /** Id (UUID). */
  readonly paymentId: string
  readonly approval: Approval
}

/**
 * Lists payments that await approval: those first that are declined first unless they are decided.
 *
 * @param range.after position after which the list begins, with the instant at which it is declined
 */
export async function listAwaiting(
  on: Queries,
  { after, limit }: { readonly after: PageEnd | undefined; readonly limit: number }
): Promise<readonly AwaitingPayment[]> {
  const later =
    after === undefined
      ? Prisma.empty
      : Prisma.sql`and (expires_at, payment_id) > (${instantText(after.createdAtMs)}::timestamptz, ${after.id}::uuid)`
  const rows = await on.$queryRaw<
    {
      readonly payment_id: string
      readonly rule_id: string
      readonly requested_at: Date
      readonly expires_at: Date
    }[]
  >(Prisma.sql`
    select payment_id, rule_id, requested_at, expires_at from payment_approval where decision is null ${later}
     order by expires_at, payment_id limit ${limit}::integer`)
  return rows.map((row) => ({
    paymentId: row.payment_id,
    approval: {
      ruleId: row.rule_id,
      requestedAtMs: row.requested_at.getTime(),
      expiresAtMs: row.expires_at.getTime(),
      decided: undefined
    }
  }))
}

/** Finds the approval of a payment (UUID); undefined when it met no rule. */
export async function findApproval(on: Queries, paymentId: string): Promise<Approval | undefined> {
  const row = await on.paymentApproval.findUnique({ where: { paymentId } })
  if (row === null) return undefined
  const { ruleId, requestedAt, expiresAt, decision, decidedAt, decidedBy, reason } = row
  return {
    ruleId,
    requestedAtMs: requestedAt.getTime(),
    expiresAtMs: expiresAt.getTime(),
    decided:
      decision === null || decidedAt === null
        ? undefined
        : {
            // A check constraint guarantees that it is one of them.
            decision: decision as ApprovalDecision,
            atMs: decidedAt.getTime(),
            by: decidedBy ?? undefined,
            reason: reason ?? undefined
          }
  }
}
