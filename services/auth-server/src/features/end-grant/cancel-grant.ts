import type { Clock } from '@open-payments-server/runtime'
import type { RevocationBus } from '../../domain/revocations.js'
import type { Queries } from '../../modules/database.js'
import { endGrant } from './end-grant.js'

/** Cancels grants. */
export interface CancelGrantService {
  /**
   * Ends a grant and all its tokens, and says so to whoever relies on them. Changes nothing when the grant is over already.
   *
   * @throws Error when it cannot be said; the grant is over, and repeating the call says it again
   */
  cancelGrant(grantId: string): Promise<void>
}

/** Cancels grants. */
export function createCancelGrantService(dependencies: {
  readonly database: Queries
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
}): CancelGrantService {
  const { database, revocations, clock } = dependencies
  return {
    async cancelGrant(grantId) {
      const end = { state: 'revoked', from: ['pending', 'approved', 'issued'] } as const
      await endGrant(database, { grantId }, end, new Date(clock.now()))
      await revocations.publish({ kind: 'grant', grantId })
    }
  }
}
