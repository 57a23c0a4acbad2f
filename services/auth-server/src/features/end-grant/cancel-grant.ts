import type { Clock } from '@open-payments-server/value-types/clock'
import type { RevocationBus } from '../../domain/revocations.js'
import type { Queries } from '../../modules/database.js'
import { endGrant } from './end-grant.js'

/** Cancels grants. */
export interface CancelGrantService {
  /**
   * Ends a grant and all its tokens, and publishes it to everyone who relies on them. Changes nothing when the grant has
   * already ended.
   *
   * @throws Error when it cannot be published; the grant has ended, and repeating the call publishes it again
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
      await endGrant(database, { grantId }, end, clock.now())
      await revocations.publish({ kind: 'grant', grantId })
    }
  }
}
