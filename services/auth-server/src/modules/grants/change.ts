import { instantText, placeholder } from '@open-payments-server/database'
import type { GrantState } from '../../domain/grants.js'
import type { GrantedItem } from '../../domain/narrowing.js'
import { Prisma, type Queries } from '../database.js'
import { storeAccessItem } from './access-items.js'
import { IS_HOLDER_FROZEN, isBeforeEnd } from './read.js'

// Each changes a grant's row, which decides between racing changes. What belongs to the grant is changed by other parts of
// the same statement, which read the results of these.

/**
 * Approves the pending grants of `open_interaction (grant_id)`, to be continued before the value `continueBefore`, and to end at the value
 * `endsAt` unless that is null. Returns
 * `approved_grant (grant_id, state, changed_at)`.
 */
export const approvedGrants = Prisma.sql`
  approved_grant as (
    update grant_request g
       set state = 'approved', continue_before = ${placeholder('continueBefore')}::timestamptz,
           ends_at = ${placeholder('endsAt')}::timestamptz, updated_at = ${placeholder('now')}::timestamptz
      from open_interaction i
     where g.id = i.grant_id and g.state = 'pending'
    returning g.id as grant_id, g.state, g.updated_at as changed_at)`

const GRANTED = Prisma.sql`${placeholder('granted')}::jsonb`

/**
 * Leaves of the access items of `approved_grant (grant_id)` what {@link grantedAccessValue} says. Nothing was charged to them before.
 * An item is deleted or changed by whether it was granted.
 */
export const narrowedAccess = Prisma.sql`
  granted_item as (
    select position, actions, "limitInterval", "limitDebitValue", "limitDebitCode", "limitDebitScale",
           "limitReceiveValue", "limitReceiveCode", "limitReceiveScale"
      from jsonb_to_recordset(${GRANTED}) as new (
        position smallint, actions text[], "limitInterval" text, "limitDebitValue" numeric, "limitDebitCode" text,
        "limitDebitScale" smallint, "limitReceiveValue" numeric, "limitReceiveCode" text, "limitReceiveScale" smallint)),
  withheld_access_item as (
    delete from access_item a using approved_grant g
     where a.grant_id = g.grant_id and ${GRANTED} is not null
       and a.position not in (select position from granted_item)),
  narrowed_access_item as (
    update access_item a
       set actions = n.actions, limit_interval = n."limitInterval", limit_debit_value = n."limitDebitValue",
           limit_debit_code = n."limitDebitCode", limit_debit_scale = n."limitDebitScale",
           limit_receive_value = n."limitReceiveValue", limit_receive_code = n."limitReceiveCode",
           limit_receive_scale = n."limitReceiveScale"
      from granted_item n, approved_grant g
     where a.grant_id = g.grant_id and a.position = n.position)`

/** The value of {@link narrowedAccess}; undefined grants what was asked. */
export function grantedAccessValue(granted: readonly GrantedItem[] | undefined): {
  readonly granted: string | null
} {
  if (granted === undefined) return { granted: null }
  return {
    granted: JSON.stringify(granted.map(({ position, item }) => ({ position, ...storeAccessItem(item) })))
  }
}

/**
 * Issues the grant of the value `grantId` at the value `now` if it is approved and not over, and its client is not frozen: to be paid under
 * until the value `payableUntil`, and to end with the value `usableUntil` at the latest. Returns `issued_grant (grant_id, state, changed_at,
 * ends_at)`.
 */
export const issuedGrants = Prisma.sql`
  issued_grant as (
    update grant_request g
       set state = 'issued', continue_after = null, continue_before = null, updated_at = ${placeholder('now')}::timestamptz,
           payable_until = ${placeholder('payableUntil')}::timestamptz,
           ends_at = least(g.ends_at, ${placeholder('usableUntil')}::timestamptz)
     where id = ${placeholder('grantId')}::uuid and state = 'approved' and not ${IS_HOLDER_FROZEN}
       and ${isBeforeEnd(Prisma.sql`${placeholder('now')}::timestamptz`)}
    returning id as grant_id, state, updated_at as changed_at, ends_at)`

/** How a grant ends. */
export interface GrantEnd {
  /** Its new state: `rejected` by its account holder who declines, `revoked` by whoever ends it. */
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
