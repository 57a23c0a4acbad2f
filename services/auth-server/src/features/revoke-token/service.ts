import type { Clock } from '@open-payments-server/runtime'
import { invalidToken } from '../../domain/errors.js'
import type { HeldToken, HeldTokens } from '../../domain/held-tokens.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { RevokeTokenRepository } from './repository.js'

/** Revokes tokens (RFC 9635 §6.2). */
export interface RevokeTokenService {
  /**
   * Ends a token, and says so to whoever relies on it.
   *
   * @param token a token whose holder was authorized
   * @throws PublicError 401 `invalid_client` when it is gone; Error when it cannot be said: the token is over, and repeating
   *   the call says it again
   */
  revokeToken(token: HeldToken): Promise<void>
}

/** Revokes tokens. */
export function createRevokeTokenService(dependencies: {
  readonly repository: RevokeTokenRepository
  readonly heldTokens: Pick<HeldTokens, 'forget'>
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
}): RevokeTokenService {
  const { repository, heldTokens, revocations, clock } = dependencies
  return {
    async revokeToken(token) {
      const isThere = await repository.revoke(token.id, new Date(clock.now()))
      heldTokens.forget(token.id)
      if (!isThere) throw invalidToken()
      await revocations.publish({ kind: 'token', accessTokenHash: token.secretHash })
    }
  }
}
