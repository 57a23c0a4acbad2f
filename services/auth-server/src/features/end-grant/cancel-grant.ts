import { endGrant, publishRevoked, type RevokeGrantDependencies } from './end-grant.js'

/**
 * Ends a grant and all its tokens, and publishes it to everyone who relies on them. Changes nothing when the grant has
 * already ended.
 *
 * @throws Error when it cannot be published; the grant has ended, and repeating the call publishes it again
 */
export async function cancelGrant(grantId: string, dependencies: RevokeGrantDependencies): Promise<void> {
  const { database, clock } = dependencies
  const end = { state: 'revoked', from: ['pending', 'approved', 'issued'] } as const
  await endGrant(database, { grantId }, end, clock.now())
  await publishRevoked(grantId, dependencies)
}
