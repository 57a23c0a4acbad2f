import { instantText, Statement } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { EXPIRING_LEAD_MS } from '../../domain/grant-expiry.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { expiringGrantEvents, forgottenExpiries } from '../../modules/grants/index.js'

/** Maximum number of grants that one statement tells of. */
export const EXPIRIES_TOGETHER_MAX = 500

/** One statement, so that each grant is told once. */
const TELL_EXPIRING = new Statement<{ readonly forgotten: number }>(
  'tell-expiring-grants',
  Prisma.sql`
  with ${forgottenExpiries}, ${appended(expiringGrantEvents)}
  select count(*)::integer as forgotten from forgotten`
)

/**
 * Tells of issued grants under which nothing can be paid soon, each once. Safe to run in several processes at once.
 *
 * @returns whether there may be more
 */
export async function tellExpiringGrants({
  database,
  clock
}: {
  readonly database: Queries
  readonly clock: Clock
}): Promise<boolean> {
  const nowMs = clock.now()
  const [row] = await TELL_EXPIRING.rows(database, {
    now: instantText(nowMs),
    soon: instantText(nowMs + EXPIRING_LEAD_MS),
    countMax: EXPIRIES_TOGETHER_MAX
  })
  return row?.forgotten === EXPIRIES_TOGETHER_MAX
}
