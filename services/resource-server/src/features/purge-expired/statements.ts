import type { PurgeStatements } from '@open-payments-server/purge'
import type { PurgedKind } from '../../domain/purge-counter.js'

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

/** How what is over is deleted. */
export const PURGE_STATEMENTS: PurgeStatements<PurgedKind> = {
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
