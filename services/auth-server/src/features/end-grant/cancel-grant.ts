import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantCounters } from '../../domain/counters.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { Queries } from '../../modules/database.js'
import { endGrant } from './end-grant.js'

/** What cancelling grants needs. */
export interface CancelGrantDependencies {
  readonly database: Queries
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
  readonly counters: Pick<GrantCounters, 'countGrant'>
}

/**
 * Ends a grant and all its tokens, and publishes it to everyone who relies on them. Changes nothing when the grant has
 * already ended.
 *
 * @throws Error when it cannot be published; the grant has ended, and repeating the call publishes it again
 */
export async function cancelGrant(
  grantId: string,
  { database, revocations, clock, counters }: CancelGrantDependencies
): Promise<void> {
  const end = { state: 'revoked', from: ['pending', 'approved', 'issued'] } as const
  await endGrant(database, { grantId }, end, clock.now())
  await revocations.publish({ kind: 'grant', grantId })
  counters.countGrant('revoked')
}
