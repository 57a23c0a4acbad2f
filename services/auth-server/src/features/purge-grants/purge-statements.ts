import { Statement } from '@open-payments-server/database'
import {
  interval,
  PURGE_NOW,
  PURGED_COUNTS,
  type PurgedBatch,
  type PurgeStatements,
  RETENTION
} from '@open-payments-server/service-kit/purge'
import type { EndedKind } from '../../domain/counters.js'
import { Prisma } from '../../modules/database.js'
import { dueGrants, grantEnd, IS_DUE_ISSUED, purgedGrants } from '../../modules/grants/index.js'
import {
  byInteraction,
  INTERACTION_EXPIRY,
  interactionEndOf,
  IS_CONSENTED
} from '../../modules/interactions/index.js'
import { isSpentUnder, purgeRefusals } from '../../modules/limits/index.js'
import { lastTokenEndOf, livingTokens, purgeRotatedTokens } from '../../modules/tokens/index.js'

/** Shorter retention where `PURGE_RETENTION_DAYS` would let strangers fill the disk. */
export interface PurgeRetention {
  /** A grant that was left undecided, in seconds from the end of its interaction. */
  readonly undecidedSeconds: number
  /** A grant that needed no consent, in seconds from the end of its last token; and a token that was rotated. */
  readonly unconsentedSeconds: number
}

const DUE_ID = Prisma.sql`due.id`

/**
 * Checks grants that may have ended, oldest first. Each is deleted, kept for good, or postponed to when it may have ended. Kept for good are grants under which money
 * moved, as the record of the consent. Grants with consent are kept while their token can be rotated: payments under them
 * may begin in a year.
 *
 * How long an ended grant is kept depends on the consent: hours if its account holder never answered, about a day if none
 * was needed, because anyone can have as many of these as the limits allow. All are checked after the shortest of these
 * times; one that is to be kept for longer is postponed by the difference.
 */
function purgeGrants({ undecidedSeconds, unconsentedSeconds }: PurgeRetention): Prisma.Sql {
  return Prisma.sql`
  with instant as (
    select now, shortest, now - shortest as cutoff
      from (select ${PURGE_NOW} as now,
                   least(${RETENTION}, ${interval(undecidedSeconds)}, ${interval(unconsentedSeconds)}) as shortest) as i),
  ${dueGrants}, ${livingTokens},
  looked_at as (
    select due.id,
           ${byInteraction({ none: interval(unconsentedSeconds), undecided: interval(undecidedSeconds), decided: RETENTION })}
             - instant.shortest + case
             when ${isSpentUnder(DUE_ID)} then null
             when ${IS_DUE_ISSUED} and living.grant_id is not null and ${IS_CONSENTED} then null
             else ${grantEnd({
               lastToken: lastTokenEndOf(DUE_ID, Prisma.sql`living.expires_at, instant.now`),
               interaction: INTERACTION_EXPIRY
             })}
           end as alive_until
      from due cross join instant left join living on living.grant_id = due.id ${interactionEndOf(DUE_ID)}),
  ${purgedGrants}
  ${PURGED_COUNTS}`
}

/** How ended data is deleted. */
export function createPurgeStatements(retention: PurgeRetention): PurgeStatements<EndedKind> {
  return {
    // Grants under which no money moved, with everything that belongs to them.
    grant: new Statement<PurgedBatch>('purge-grants', purgeGrants(retention), { prepared: false }),
    token: purgeRotatedTokens(retention.unconsentedSeconds),
    refusal: purgeRefusals
  }
}
