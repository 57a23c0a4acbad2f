import { instantText, inTransaction, Statement } from '@open-payments-server/database'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import type { ActingHolder, AllowedGrant } from '../../domain/allowed-grants.js'
import { CallRefused } from '../../domain/call-refused.js'
import { type Database, Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  actedGrants,
  grantActEvents,
  grantActValues,
  heldGrants,
  insertedGrantActs
} from '../../modules/grants/index.js'
import { findAllowedGrant } from '../allowed-grants.js'
import { endGrant, publishRevoked, type RevokeGrantDependencies } from './end-grant.js'

/** What stopping grants needs. */
export interface StopGrantDependencies extends RevokeGrantDependencies {
  readonly database: Database
  readonly random: Random
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}

const HOLD = new Statement('hold-stopped-grant', heldGrants, { prepared: false })

const RECORD = new Statement(
  'record-stop',
  Prisma.sql`
  with ${actedGrants}, ${insertedGrantActs(Prisma.sql`'[]'::jsonb`)}, ${appended(grantActEvents)}
  select grant_id from acted_grant`,
  { prepared: false }
)

/**
 * Ends a grant and all its tokens for whoever holds its wallet address, and publishes it to everyone who relies on them. It is in
 * force once this returns: a reservation whose statement begins later is refused. Changes nothing when the grant was ended already.
 *
 * @param grantId its id (UUID)
 * @returns the grant as it is now
 * @throws CallRefused `not-found`, also for a grant of another wallet address; `untold`: the grant is stopped, and repeating the
 *   call publishes it again
 */
export async function stopGrant(
  acting: ActingHolder,
  grantId: string,
  dependencies: StopGrantDependencies
): Promise<AllowedGrant> {
  const { database, clock, counters, onEventsAppended } = dependencies
  const stopped = await inTransaction(database, async (transaction: Queries) => {
    await HOLD.rows(transaction, { grantId })
    const grant = await findAllowedGrant(transaction, acting, grantId, clock.now())
    return stop(transaction, grant, acting, dependencies)
  })
  if (stopped) {
    onEventsAppended()
    counters.countGrant('stopped')
  }
  try {
    await publishRevoked(grantId, dependencies)
  } catch (cause) {
    const message = 'The grant is stopped, but not every service could be told: repeat the call'
    throw new CallRefused('untold', message, { cause })
  }
  return findAllowedGrant(database, acting, grantId, clock.now())
}

/** @returns whether this call did it */
async function stop(
  on: Queries,
  grant: AllowedGrant,
  { issuer, sub }: ActingHolder,
  { clock, random }: StopGrantDependencies
): Promise<boolean> {
  const nowMs = clock.now()
  const end = { state: 'revoked', from: ['approved', 'issued'] } as const
  if (!(await endGrant(on, { grantId: grant.id }, end, nowMs))) return false
  const { access, endsAtMs, pausedAtMs } = grant
  const terms = { access: access.map(({ item }) => item), endsAtMs, pausedAtMs }
  const act = {
    id: newId(clock, random),
    grantId: grant.id,
    kind: 'stopped' as const,
    holder: { issuer, sub },
    before: terms,
    after: terms,
    proof: undefined,
    needsProof: false
  }
  await RECORD.rows(on, {
    ...grantActValues(act),
    pausedAt: pausedAtMs === undefined ? null : instantText(pausedAtMs),
    endsAt: endsAtMs === undefined ? null : instantText(endsAtMs),
    now: instantText(nowMs)
  })
  return true
}
