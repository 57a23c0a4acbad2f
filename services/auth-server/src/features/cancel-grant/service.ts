import type { Clock } from '@open-payments-server/runtime'
import type { RevocationBus } from '../../domain/revocations.js'
import type { CancelGrantRepository } from './repository.js'

/** Cancels grants. */
export interface CancelGrantService {
  /**
   * Ends a grant and all its tokens, and says so to whoever relies on them.
   *
   * @throws Error when it cannot be said; the grant is over, and repeating the call says it again
   */
  cancelGrant(grantId: string): Promise<void>
}

/** Cancels grants. */
export function createCancelGrantService(dependencies: {
  readonly repository: CancelGrantRepository
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
}): CancelGrantService {
  const { repository, revocations, clock } = dependencies
  return {
    async cancelGrant(grantId) {
      await repository.cancel(grantId, new Date(clock.now()))
      await revocations.publish({ kind: 'grant', grantId })
    }
  }
}
