import { placeholder, Statement } from '@open-payments-server/database'
import type { PurgedBatch, PurgeStatements } from '@open-payments-server/purge'
import type { PurgedKind } from '../../domain/purge-counter.js'
import { Prisma } from '../../modules/database.js'

/** How long what is over is kept where `PURGE_RETENTION_DAYS` would let strangers fill the disk. */
export interface PurgeRetention {
  /** A grant that nobody decided, in seconds from the end of its interaction. */
  readonly undecidedSeconds: number
  /** A grant that needed no consent, in seconds from the end of its last token; and a token that was rotated. */
  readonly unconsentedSeconds: number
}

/**
 * How long a refusal is kept, in seconds. A request that was refused may come again late: from a client, or from a process
 * that slept between asking for the room and hearing of it. It carries the token that it was signed with, so that it is
 * refused once more however late it comes, when that token cannot be alive any more: after a day at most, the longest
 * lifetime of a token. A second day makes up for clocks that differ, and is more than the day for which an
 * `Idempotency-Key` is remembered.
 */
const REFUSAL_SECONDS = 2 * 86_400

/** A clock that runs ahead must not delete anything, so that the earlier of the service's and the database's counts. */
const NOW = Prisma.sql`least(${placeholder('now')}::timestamptz, now())`

const DAYS = Prisma.sql`make_interval(secs => ${placeholder('retentionSeconds')}::integer)`
const LIMIT = Prisma.sql`limit ${placeholder('countMax')}::integer`

/** So many seconds as an interval. */
function interval(seconds: number): Prisma.Sql {
  return Prisma.raw(`make_interval(secs => ${String(seconds)})`)
}

/**
 * Looks at grants that may be over, oldest first. Each is deleted, or kept for good, or looked at again when it may be over
 * next: so that a batch never meets the same grant twice, and what is kept costs nothing. Kept for good are those under
 * which money moved, as the record of the consent, and those to which the account holder agreed while their token can be
 * rotated: payments under them may begin in a year.
 *
 * How long a grant is kept once it is over depends on whom it took: hours when its account holder never answered, a day or so
 * when nobody had to, because anybody can have as many of these as the limits let through. All are looked at when the
 * shortest of these times is over; one that is to be kept for longer is put off by the difference.
 *
 * A living token is looked at locked. One that is being rotated, or was a moment ago, is not found under its lock: its grant
 * is in use. A rotation that comes later waits, and finds no token.
 */
function purgeGrants({ undecidedSeconds, unconsentedSeconds }: PurgeRetention): Prisma.Sql {
  return Prisma.sql`
  with instant as (
    select now, shortest, now - shortest as cutoff
      from (select ${NOW} as now,
                   least(${DAYS}, ${interval(undecidedSeconds)}, ${interval(unconsentedSeconds)}) as shortest) as i),
  due as (
    select id, state, continue_before, updated_at
      from grant_request
     where alive_until < (select cutoff from instant)
     order by alive_until
     ${LIMIT}
       for update skip locked),
  living as (
    select t.grant_id, t.expires_at
      from access_token t join due on due.id = t.grant_id
     where t.ended_at is null
       for update of t skip locked),
  asked as (
    select due.*, i.state as interaction_state, i.expires_at,
           case when i.state is null then ${interval(unconsentedSeconds)}
                when i.state = 'PENDING' then ${interval(undecidedSeconds)}
                else ${DAYS} end as kept_for
      from due left join lateral (
        -- Limited, so that it is looked up by its index, and not joined with a table that is read as a whole.
        select state, expires_at from interaction where grant_id = due.id limit 1) i on true),
  looked_at as (
    select asked.id,
           asked.kept_for - instant.shortest + case
             when exists (select 1 from access_item a join limit_window w on w.access_item_id = a.id
                           where a.grant_id = asked.id) then null
             when asked.state = 'issued' and living.grant_id is not null and asked.interaction_state = 'APPROVED' then null
             when asked.state in ('rejected', 'revoked') then asked.updated_at
             when asked.state = 'issued' then coalesce(
               (select max(coalesce(t.ended_at, living.expires_at, instant.now))
                  from access_token t where t.grant_id = asked.id), asked.updated_at)
             else coalesce(asked.continue_before, asked.expires_at)
           end as alive_until
      from asked cross join instant left join living on living.grant_id = asked.id),
  put_off as (
    update grant_request g set alive_until = looked_at.alive_until
      from looked_at cross join instant
     where g.id = looked_at.id and (looked_at.alive_until is null or looked_at.alive_until >= instant.cutoff)),
  purged as (
    delete from grant_request g using looked_at cross join instant
     where g.id = looked_at.id and looked_at.alive_until < instant.cutoff
    returning 1)
  select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`
}

/**
 * Deletes rows of which each is over by its own instant.
 *
 * @param due selects the rows by `id`, oldest first
 */
function purgeAll(table: Prisma.Sql, id: Prisma.Sql, due: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  with due as (${due} ${LIMIT} for update skip locked),
  purged as (
    delete from ${table} r using due where r.${id} = due.${id}
    returning 1)
  select (select count(*) from due)::integer as "lookedAt", (select count(*) from purged)::integer as purged`
}

const statement = (name: string, text: Prisma.Sql): Statement<PurgedBatch> =>
  new Statement(name, text, { prepared: false })

/** How what is over is deleted. */
export function createPurgeStatements(retention: PurgeRetention): PurgeStatements<PurgedKind> {
  return {
    // Grants under which no money moved, with everything that belongs to them.
    grant: statement('purge-grants', purgeGrants(retention)),
    // Tokens that a rotation ended: they are never their grant's newest.
    token: statement(
      'purge-tokens',
      purgeAll(
        Prisma.sql`access_token`,
        Prisma.sql`id`,
        Prisma.sql`select id from access_token
        where end_reason = 'rotated' and ended_at < ${NOW} - ${interval(retention.unconsentedSeconds)}
        order by ended_at`
      )
    ),
    // Refusals, but for those that were released after: a payment id that was given up stays given up on both sides.
    refusal: statement(
      'purge-refusals',
      purgeAll(
        Prisma.sql`reservation`,
        Prisma.sql`payment_id`,
        Prisma.sql`select payment_id from reservation
        where state = 'refused' and ended_at is null and created_at < ${NOW} - ${interval(REFUSAL_SECONDS)}
        order by created_at`
      )
    )
  }
}
