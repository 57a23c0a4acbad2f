import type { Clock } from '@open-payments-server/value-types/clock'
import { invalidToken } from '../../domain/errors.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { ManagedToken } from '../../domain/token-record.js'
import type { Queries } from '../../modules/database.js'
import { revokeToken, type TokenHolders } from '../../modules/tokens/index.js'

/** Revokes tokens (RFC 9635 §6.2). */
export interface RevokeTokenService {
  /**
   * Ends a token, and publishes it to everyone who relies on it.
   *
   * @param token a token whose token holder was authorized
   * @throws Refusal `unknown-token` when it is gone; Error when it cannot be published: the token has ended, and repeating
   *   the call publishes it again
   */
  revokeToken(token: ManagedToken): Promise<void>
}

/** Revokes tokens. */
export function createRevokeTokenService(dependencies: {
  readonly database: Queries
  readonly tokenHolders: Pick<TokenHolders, 'forget'>
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
}): RevokeTokenService {
  const { database, tokenHolders, revocations, clock } = dependencies
  return {
    async revokeToken(token) {
      const isThere = await revokeToken(database, token.id, clock.now())
      tokenHolders.forget(token.id)
      if (!isThere) throw invalidToken()
      await revocations.publish({ kind: 'token', accessTokenHash: token.secretHash })
    }
  }
}
