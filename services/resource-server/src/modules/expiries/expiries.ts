import { placeholder } from '@open-payments-server/database'
import { Prisma } from '../database.js'

/** What expires without anyone doing anything: the prefix of its events. */
export type ExpiringKind = 'incoming_payment' | 'quote'

/**
 * Fragment: the part `scheduled`, which notes when to tell that the rows of the part `created` (`id`, `expires_at`) expire. A row of its own
 * that goes again costs less than marking what expired: its table has more columns, and an index for each way it is read.
 */
export function scheduled(kind: ExpiringKind): Prisma.Sql {
  return Prisma.sql`
  scheduled as (
    insert into expiry (expires_at, subject_id, kind) select expires_at, id, ${Prisma.raw(`'${kind}'`)} from created
  )`
}

/**
 * Fragment: the part `due` (`kind`, `subject_id`, `expires_at`), what expired before the value `expiredBefore`, the first first, up to
 * the value `countMax`. Its entries are deleted: whoever sends the statement tells of it. Others skip them meanwhile. The earlier of the
 * service's and the database's clocks counts.
 */
export const dueExpiries = Prisma.sql`
  chosen as (
    select expires_at, subject_id from expiry
     where expires_at < least(${placeholder('expiredBefore')}::timestamptz, now())
     order by expires_at limit ${placeholder('countMax')}::integer for update skip locked
  ), due as (
    delete from expiry e using chosen where e.expires_at = chosen.expires_at and e.subject_id = chosen.subject_id
    returning e.kind, e.subject_id, e.expires_at
  )`
