import type { Logger } from '@open-payments-server/runtime'
import type { GrantCounters } from '../../domain/counters.js'
import { accessAt } from '../../domain/grant-expiry.js'
import { clientFrozen, invalidRotation, invalidToken } from '../../domain/errors.js'
import type { AccessTokenWire } from '../../domain/grants.js'
import { makeToken, type TokenMaker } from '../../domain/new-token.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { ManagedToken } from '../../domain/token-record.js'
import type { RotateToken, TokenHolders } from '../../modules/tokens/index.js'

/** What rotating tokens needs. */
export interface RotateTokenDependencies extends TokenMaker {
  readonly rotate: RotateToken
  readonly tokenHolders: Pick<TokenHolders, 'remember' | 'forget'>
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly logger: Pick<Logger, 'error'>
  readonly counters: Pick<GrantCounters, 'countToken'>
}

/**
 * Issues a new value, a new management address and a full lifetime (RFC 9635 §6.1). An expired token can be rotated while
 * its grant is active.
 *
 * @param old a token whose token holder was authorized
 * @throws Refusal `not-rotatable` when it was rotated or revoked, its grant has ended, or another rotation won; `client-frozen`; `unknown-token` when it
 *   is gone
 */
export async function rotateToken(
  old: ManagedToken,
  dependencies: RotateTokenDependencies
): Promise<{ access_token: AccessTokenWire }> {
  const { rotate, tokenHolders, revocations, logger, counters } = dependencies
  const token = makeToken(dependencies)
  const rotation = await rotate(old.id, token)
  if (rotation.kind === 'client-frozen') throw clientFrozen()
  tokenHolders.forget(old.id)
  if (rotation.kind === 'unknown') throw invalidToken()
  if (rotation.kind === 'over') throw invalidRotation()
  tokenHolders.remember({ id: token.id, secretHash: token.hash, holder: old.holder })
  try {
    await revocations.publish({ kind: 'token', accessTokenHash: old.secretHash })
  } catch (error) {
    // Failing now would lose the only copy of the new value. Those who cached the old one ask again soon anyway.
    logger.error({ err: error }, 'a rotation could not be published')
  }
  counters.countToken('rotated')
  return {
    access_token: token.tellClient(accessAt(rotation.access, token.createdAtMs), rotation.expiresAtMs)
  }
}
