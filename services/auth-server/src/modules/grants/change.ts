import { instantText, placeholder } from '@open-payments-server/database'
import type { GrantState } from '../../domain/grants.js'
import { Prisma, type Queries } from '../database.js'
import { IS_HOLDER_FROZEN } from './read.js'

// Each changes a grant's row, which decides between racing changes. What belongs to the grant is changed by other parts of
// the same statement, which read the results of these.

/**
 * Approves the pending grants of `open_interaction (grant_id)`, to be continued before the value `continueBefore`. Returns
 * `approved_grant (grant_id, state, changed_at)`.
 */
export const approvedGrants = Prisma.sql`
  approved_grant as (
    update grant_request g
       set state = 'approved', continue_before = ${placeholder('continueBefore')}::timestamptz,
           updated_at = ${placeholder('now')}::timestamptz
      from open_interaction i
     where g.id = i.grant_id and g.state = 'pending'
    returning g.id as grant_id, g.state, g.updated_at as changed_at)`

/**
 * Issues the grant of the value `grantId` if it is approved, and its client is not frozen. Returns `issued_grant (grant_id, state,
 * changed_at)`.
 */
export const issuedGrants = Prisma.sql`
  issued_grant as (
    update grant_request g
       set state = 'issued', continue_after = null, continue_before = null, updated_at = ${placeholder('now')}::timestamptz
     where id = ${placeholder('grantId')}::uuid and state = 'approved' and not ${IS_HOLDER_FROZEN}
    returning id as grant_id, state, updated_at as changed_at)`

/** How a grant ends. */
export interface GrantEnd {
  /** Its new state: `rejected` by its account holder, `revoked` by its client or an operator. */
  readonly state: Extract<GrantState, 'rejected' | 'revoked'>
  /** The states in which it can end this way. In any other it stays as it is. */
  readonly from: readonly GrantState[]
  /** The account holder's reason; undefined when there is none. */
  readonly reason?: string | undefined
}

/**
 * Ends the grants of `ending (grant_id)` as {@link grantEndValues} say, for everyone who ends grants. Returns `ended_grant
 * (grant_id, state, changed_at)`. No token of an ended grant is active, not even one that is being issued or rotated at this
 * moment, which this statement does not see.
 */
export const endedGrants = Prisma.sql`
  ended_grant as (
    update grant_request g
       set state = ${placeholder('state')}::grant_state, continue_after = null,
           continue_before = null, rejection_reason = coalesce(${placeholder('reason')}::text, g.rejection_reason),
           updated_at = ${placeholder('now')}::timestamptz
      from ending
     where g.id = ending.grant_id and g.state = any (${placeholder('from')}::grant_state[])
    returning g.id as grant_id, g.state, g.updated_at as changed_at)`

/** The values of {@link endedGrants}. */
export function grantEndValues(
  { state, from, reason }: GrantEnd,
  nowMs: number
): {
  readonly state: string
  readonly from: readonly string[]
  readonly reason: string | null
  readonly now: string
} {
  return { state, from, reason: reason ?? null, now: instantText(nowMs) }
}

/**
 * Restarts the wait of a pending grant.
 *
 * @returns false when it is already running, or the grant is no longer pending
 */
export async function restartWait(
  on: Queries,
  grantId: string,
  continueAfterMs: number,
  nowMs: number
): Promise<boolean> {
  const now = new Date(nowMs)
  const { count } = await on.grant.updateMany({
    where: { id: grantId, state: 'pending', OR: [{ continueAfter: null }, { continueAfter: { lte: now } }] },
    data: { continueAfter: new Date(continueAfterMs) }
  })
  return count === 1
}
