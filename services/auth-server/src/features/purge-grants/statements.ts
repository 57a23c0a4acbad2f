import type { PurgeStatements } from '@open-payments-server/purge'
import type { PurgedKind } from '../../domain/purge-counter.js'

/** A clock that runs ahead must not delete anything, so that the earlier of the service's and the database's counts. */
const INSTANTS = `
  instant as (
    select least($1::timestamptz, now()) as now,
           least($1::timestamptz, now()) - make_interval(secs => $2) as cutoff)`

/**
 * Looks at grants that may be over, oldest first. Each is deleted, or kept for good, or looked at again when it may be over
 * next: so that a batch never meets the same grant twice, and what is kept costs nothing. Kept for good are those under
 * which money moved, as the record of the consent, and those to which the account holder agreed while their token can be
 * rotated: payments under them may begin in a year.
 *
 * A living token is looked at locked. One that is being rotated, or was a moment ago, is not found under its lock: its grant
 * is in use. A rotation that comes later waits, and finds no token.
 */
const PURGE_GRANTS = `
  with ${INSTANTS},
  due as (
    select id, state, continue_before, updated_at
      from grant_request
     where alive_until < (select cutoff from instant)
     order by alive_until
     limit $3
       for update skip locked),
  living as (
    select t.grant_id, t.expires_at
      from access_token t join due on due.id = t.grant_id
     where t.ended_at is null
       for update of t skip locked),
  looked_at as (
    select due.id,
           case
             when exists (select 1 from access_item a join limit_window w on w.access_item_id = a.id
                           where a.grant_id = due.id) then null
             when due.state = 'issued' and living.grant_id is not null
                  and (select i.state from interaction i where i.grant_id = due.id) = 'APPROVED' then null
             when due.state in ('rejected', 'revoked') then due.updated_at
             when due.state = 'issued' then coalesce(
               (select max(coalesce(t.ended_at, living.expires_at, instant.now))
                  from access_token t where t.grant_id = due.id), due.updated_at)
             else coalesce(due.continue_before, (select i.expires_at from interaction i where i.grant_id = due.id))
           end as alive_until
      from due cross join instant left join living on living.grant_id = due.id),
  put_off as (
    update grant_request g set alive_until = looked_at.alive_until
      from looked_at cross join instant
     where g.id = looked_at.id and (looked_at.alive_until is null or looked_at.alive_until >= instant.cutoff)),
  purged as (
    delete from grant_request g using looked_at cross join instant
     where g.id = looked_at.id and looked_at.alive_until < instant.cutoff
    returning 1)
  select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`

const PURGE_TOKENS = `
  with ${INSTANTS},
  due as (
    select id from access_token
     where end_reason = 'rotated' and ended_at < (select cutoff from instant)
     order by ended_at
     limit $3
       for update skip locked),
  purged as (
    delete from access_token t using due where t.id = due.id
    returning 1)
  select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`

/** How what is over is deleted. */
export const PURGE_STATEMENTS: PurgeStatements<PurgedKind> = {
  // Grants under which no money moved, with everything that belongs to them.
  grant: PURGE_GRANTS,
  // Tokens that a rotation ended: they are never their grant's newest.
  token: PURGE_TOKENS
}
