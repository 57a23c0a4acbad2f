import type { Clock } from '@open-payments-server/runtime'
import type { ManagedToken } from '../../domain/authentication.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { RevokeTokenRepository } from './repository.js'

/** Revokes tokens (RFC 9635 §6.2). */
export interface RevokeTokenService {
  /**
   * Ends a token, and says so to whoever relies on it.
   *
   * @param token a token whose holder was authorized
   * @throws Error when it cannot be said; the token is over, and repeating the call says it again
   */
  revokeToken(token: ManagedToken): Promise<void>
}

/** Revokes tokens. */
export function createRevokeTokenService(dependencies: {
  readonly repository: RevokeTokenRepository
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
}): RevokeTokenService {
  const { repository, revocations, clock } = dependencies
  return {
    async revokeToken(token) {
      await repository.revoke(token.id, new Date(clock.now()))
      await revocations.publish({ kind: 'token', accessTokenHash: token.valueHash })
    }
  }
}
