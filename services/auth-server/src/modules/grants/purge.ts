import { dueRows, purgedRows, type PurgedTable } from '@open-payments-server/service-kit/purge'
import { Prisma } from '../database.js'

const TABLE: PurgedTable = {
  from: Prisma.sql`from grant_request`,
  update: Prisma.sql`update grant_request`,
  deleteFrom: Prisma.sql`delete from grant_request`
}

/**
 * Grants that may have ended, oldest first, locked: by `instant (cutoff)`. Returns `due (id, state, continue_before,
 * updated_at)`.
 */
export const dueGrants = dueRows(TABLE, Prisma.sql`id, state, continue_before, updated_at`)

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
 * to them: foreign keys delete their access items, and the rows of other modules, their interaction and tokens. Postpones the
 * others. Returns `purged`, a row for each deleted grant.
 */
export const purgedGrants = purgedRows(TABLE)
