import type { Clock } from '@open-payments-server/value-types/clock'
import { CallRefused } from '../../domain/call-refused.js'
import type { GrantCounters } from '../../domain/counters.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { Queries } from '../../modules/database.js'
import { findGrant, type OperatedGrant } from '../../modules/grants/index.js'
import { endGrant } from './end-grant.js'

/** What revoking grants needs. */
export interface RevokeGrantDependencies {
  readonly database: Queries
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
  readonly counters: Pick<GrantCounters, 'countGrant'>
}

/**
 * Revokes a grant and its tokens for an operator, whatever the grant's state, and publishes it to everyone who relies on
 * them.
 *
 * @param grantId its id (UUID)
 * @returns the grant as it is now; undefined when there is none
 * @throws CallRefused `untold`: the grant is revoked, and repeating the call publishes it again
 */
export async function revokeGrant(
  grantId: string,
  { database, revocations, clock, counters }: RevokeGrantDependencies
): Promise<OperatedGrant | undefined> {
  const end = { state: 'revoked', from: ['pending', 'approved', 'issued', 'rejected'] } as const
  await endGrant(database, { grantId }, end, clock.now())
  const grant = await findGrant(database, grantId)
  if (grant === undefined) return undefined
  try {
    await revocations.publish({ kind: 'grant', grantId })
  } catch (cause) {
    const message = 'The grant is revoked, but not every service could be told: repeat the call'
    throw new CallRefused('untold', message, { cause })
  }
  counters.countGrant('revoked')
  return grant
}
