import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/**
 * Grants that may have ended, oldest first, locked: by `instant (cutoff)`. Returns `due (id, state, continue_before,
 * updated_at)`.
 */
export const dueGrants = Prisma.sql`
  due as (
    select id, state, continue_before, updated_at
      from grant_request
     where alive_until < (select cutoff from instant)
     order by alive_until
     limit ${placeholder('countMax')}::integer
       for update skip locked)`

/** Whether a grant of {@link dueGrants} is issued: its tokens can be used and rotated. */
export const IS_DUE_ISSUED = Prisma.sql`due.state = 'issued'`

/**
 * When a grant of {@link dueGrants} ended, or will have.
 *
 * @param ends.lastToken when its last token ended, or does; null without any
 * @param ends.interaction when its account holder can no longer decide
 */
export function grantEnd(ends: {
  readonly lastToken: Prisma.Sql
  readonly interaction: Prisma.Sql
}): Prisma.Sql {
  return Prisma.sql`
  case when due.state in ('rejected', 'revoked') then due.updated_at
       when ${IS_DUE_ISSUED} then coalesce(${ends.lastToken}, due.updated_at)
       else coalesce(due.continue_before, ${ends.interaction}) end`
}

/**
 * Deletes those grants of `looked_at (id, alive_until)` that ended before `instant (cutoff)`, with everything that belongs
 * to them. Postpones the others to when they may have ended, and never looks again at those without an instant. Returns
 * `purged`, a row for each deleted grant.
 */
export const purgedGrants = Prisma.sql`
  put_off as (
    update grant_request g set alive_until = looked_at.alive_until
      from looked_at cross join instant
     where g.id = looked_at.id and (looked_at.alive_until is null or looked_at.alive_until >= instant.cutoff)),
  purged as (
    delete from grant_request g using looked_at cross join instant
     where g.id = looked_at.id and looked_at.alive_until < instant.cutoff
    returning 1)`
