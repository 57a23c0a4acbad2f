import type { Acting } from '@open-payments-server/service-kit/operators'
import { findGrant, type OperatedGrant } from '../../modules/grants/index.js'
import { endGrant, publishRevoked, type RevokeGrantDependencies } from './end-grant.js'

/**
 * Revokes a grant and its tokens for an operator, whatever the grant's state, and publishes it to everyone who relies on
 * them.
 *
 * @param grantId its id (UUID)
 * @returns the grant as it is now; undefined when there is none
 */
export async function revokeGrant(
  grantId: string,
  dependencies: RevokeGrantDependencies & Acting
): Promise<OperatedGrant | undefined> {
  const { database, clock } = dependencies
  const end = { state: 'revoked', from: ['pending', 'approved', 'issued', 'rejected'] } as const
  if (!(await endGrant(database, { grantId }, end, clock.now()))) dependencies.onUnchanged()
  const grant = await findGrant(database, grantId)
  if (grant === undefined) return undefined
  await publishRevoked(grantId, dependencies)
  return grant
}
