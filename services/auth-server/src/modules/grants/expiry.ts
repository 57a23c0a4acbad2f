import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Fragment: remembers to tell that nothing can be paid under the grant of `issued_grant (grant_id, ends_at)` any more: from the value
 * `payableUntil` or its end on, unless it has neither.
 */
export const expectedExpiries = Prisma.sql`
  expected_expiry as (
    insert into grant_expiry (grant_id, ends_at)
    select grant_id, least(ends_at, ${placeholder('payableUntil')}::timestamptz) from issued_grant
     where coalesce(ends_at, ${placeholder('payableUntil')}::timestamptz) is not null)`

/**
 * Fragment: forgets, at the value `now`, up to `countMax` expiries before the value `soon`, the first ones first. Those of grants
 * that are issued still, and not over yet, are to be told: `expiring_grant`. Their rows are locked, so that one that is being
 * ended is told as ended, or first as expiring. They are looked up by their ids: a plan made while there were few would read all grants.
 */
export const forgottenExpiries = Prisma.sql`
  due as (
    select grant_id, ends_at from grant_expiry where ends_at <= ${placeholder('soon')}::timestamptz
     order by ends_at limit ${placeholder('countMax')}::integer for update skip locked),
  expiring_grant as (
    select g.id as grant_id, g.state, g.updated_at, due.ends_at
      from due join grant_request g on g.id = due.grant_id
     where g.id = any (array(select grant_id from due)) and g.state = 'issued'
       and due.ends_at > ${placeholder('now')}::timestamptz
       for share of g),
  forgotten as (
    delete from grant_expiry where grant_id = any (array(select grant_id from due)) returning grant_id)`

/** Fragment: selects the events of `expiring_grant`. Takes `now`. */
export const expiringGrantEvents = Prisma.sql`
  select 'grant.expiring' as type, grant_id as subject_id,
         json_build_object('state', state, 'updatedAt', updated_at, 'endsAt', ends_at) as change,
         ${placeholder('now')}::timestamptz as occurred_at
    from expiring_grant`
