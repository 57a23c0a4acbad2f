import { interval, PURGE_NOW, purgeEnded, type PurgeStatement } from '@open-payments-server/service-kit/purge'
import { Prisma } from '../database.js'

/**
 * The active tokens of the grants of `due (id)`, locked: `living (grant_id, expires_at)`. One that is being rotated, or
 * just was, is not found under its lock: its grant is in use. A later rotation waits, and finds no token.
 */
export const livingTokens = Prisma.sql`
  living as (
    select t.grant_id, t.expires_at
      from access_token t join due on due.id = t.grant_id
     where t.ended_at is null
       for update of t skip locked)`

/**
 * The instant at which the last token of a grant ended; null for a grant without any.
 *
 * @param grantId names the grant's id
 * @param stillLiving the value for an active token
 */
export function lastTokenEndOf(grantId: Prisma.Sql, stillLiving: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  (select max(coalesce(t.ended_at, ${stillLiving})) from access_token t where t.grant_id = ${grantId})`
}

/**
 * Deletes tokens that a rotation ended: they are never their grant's newest.
 *
 * @param keptSeconds how long they are kept
 */
export function purgeRotatedTokens(keptSeconds: number): PurgeStatement {
  return purgeEnded({
    name: 'purge-tokens',
    due: Prisma.sql`
    select id from access_token
     where end_reason = 'rotated' and ended_at < ${PURGE_NOW} - ${interval(keptSeconds)}
     order by ended_at`,
    deleted: Prisma.sql`delete from access_token t using due where t.id = due.id`
  })
}
