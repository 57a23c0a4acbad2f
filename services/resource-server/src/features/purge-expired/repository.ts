import type { Pool } from 'pg'
import type { PurgedKind } from '../../domain/purge-counter.js'

/** Which rows are over long enough. */
export interface PurgeRange {
  /** The service's clock. */
  readonly now: Date
  /** How long ago they must have expired, in seconds. */
  readonly retentionSeconds: number
  /** Most rows of one batch. */
  readonly countMax: number
}

/** What a batch came to. */
export interface PurgedBatch {
  /** How many rows were looked at: fewer than asked for when there are no more. */
  readonly lookedAt: number
  readonly purged: number
}

/** Deletes what is over. */
export interface PurgeRepository {
  /** Deletes a batch of one kind, with one statement that leaves alone what somebody else has locked. */
  purge(kind: PurgedKind, range: PurgeRange): Promise<PurgedBatch>
}

/**
 * Looks at rows that may be over, oldest first. Each is deleted, or kept for good, or looked at again when it may be over
 * next: so that a batch never meets the same row twice, and what is kept costs nothing.
 *
 * A clock that runs ahead must not delete anything, so that the earlier of the service's and the database's counts.
 *
 * @param options.isKept what makes a row `due` one that is kept for good
 */
function purgeStatement(options: {
  table: 'quote' | 'incoming_payment'
  columns: string
  isKept: string
}): string {
  const { table, columns, isKept } = options
  return `
    with instant as (
      select least($1::timestamptz, now()) - make_interval(secs => $2) as cutoff),
    due as (
      select ${columns}
        from ${table}
       where alive_until < (select cutoff from instant)
       order by alive_until
       limit $3
         for update skip locked),
    looked_at as (
      select due.id, case when ${isKept} then null else due.expires_at end as alive_until from due),
    put_off as (
      update ${table} r set alive_until = looked_at.alive_until
        from looked_at cross join instant
       where r.id = looked_at.id and (looked_at.alive_until is null or looked_at.alive_until >= instant.cutoff)),
    purged as (
      delete from ${table} r using looked_at cross join instant
       where r.id = looked_at.id and looked_at.alive_until < instant.cutoff
      returning 1)
    select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`
}

const STATEMENTS: Readonly<Record<PurgedKind, string>> = {
  // One that a payment used is the record of what that payment was offered.
  quote: purgeStatement({
    table: 'quote',
    columns: 'id, expires_at',
    isKept: 'exists (select 1 from outgoing_payment p where p.quote_id = due.id)'
  }),
  // Nothing is delivered to one that has expired, and while something is delivered its row is locked.
  'incoming-payment': purgeStatement({
    table: 'incoming_payment',
    columns: 'id, expires_at, received_value',
    isKept: 'due.received_value > 0 or exists (select 1 from transfer t where t.incoming_payment_id = due.id)'
  })
}

/** Deletes from PostgreSQL. Prisma has no words for rows that are passed over because they are locked. */
export function createPurgeRepository(pool: Pool): PurgeRepository {
  return {
    async purge(kind, { now, retentionSeconds, countMax }) {
      const { rows } = await pool.query<PurgedBatch>(STATEMENTS[kind], [now, retentionSeconds, countMax])
      const [batch] = rows
      if (batch === undefined) throw new Error('a statement that always answers a row answered none')
      return batch
    }
  }
}
