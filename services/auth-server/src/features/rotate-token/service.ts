import type { Logger } from '@open-payments-server/runtime'
import type { ManagedToken } from '../../domain/authentication.js'
import { invalidRotation } from '../../domain/errors.js'
import type { AccessTokenWire } from '../../domain/grants.js'
import { makeToken, type TokenMaker } from '../../domain/issued-token.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { RotateTokenRepository } from './repository.js'

/** What rotating tokens needs. */
export interface RotateTokenDependencies extends TokenMaker {
  readonly repository: RotateTokenRepository
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly logger: Pick<Logger, 'error'>
}

/** Rotates tokens (RFC 9635 §6.1). */
export interface RotateTokenService {
  /**
   * Gives a new value, a new management address and a full lifetime. An expired token can be rotated while its grant
   * lives.
   *
   * @param token a token whose holder was authorized
   * @throws PublicError 404 `invalid_rotation` when it was rotated or revoked, or another rotation won
   */
  rotateToken(token: ManagedToken): Promise<{ access_token: AccessTokenWire }>
}

/** Rotates tokens. */
export function createRotateTokenService(dependencies: RotateTokenDependencies): RotateTokenService {
  const { repository, revocations, logger } = dependencies
  return {
    async rotateToken(old) {
      if (old.isEnded || old.grantState !== 'issued') throw invalidRotation()
      const token = makeToken(dependencies)
      if (!(await repository.rotate(old.id, token))) throw invalidRotation()
      try {
        await revocations.publish({ kind: 'token', accessTokenHash: old.valueHash })
      } catch (error) {
        // Failing now would lose the only copy of the new value. Whoever relies on the old one asks again soon anyway.
        logger.error({ err: error }, 'a rotation could not be told')
      }
      return { access_token: token.tellClient(old.access) }
    }
  }
}
