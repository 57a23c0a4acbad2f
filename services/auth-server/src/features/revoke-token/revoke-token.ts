import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantCounters } from '../../domain/counters.js'
import { invalidToken } from '../../domain/errors.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { ManagedToken } from '../../domain/token-record.js'
import type { Queries } from '../../modules/database.js'
import * as tokens from '../../modules/tokens/index.js'

/** What revoking tokens needs. */
export interface RevokeTokenDependencies {
  readonly database: Queries
  readonly tokenHolders: Pick<tokens.TokenHolders, 'forget'>
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
  readonly counters: Pick<GrantCounters, 'countToken'>
}

/**
 * Ends a token (RFC 9635 §6.2), and publishes it to everyone who relies on it.
 *
 * @param token a token whose token holder was authorized
 * @throws Refusal `unknown-token` when it is gone; Error when it cannot be published: the token has ended, and repeating
 *   the call publishes it again
 */
export async function revokeToken(token: ManagedToken, dependencies: RevokeTokenDependencies): Promise<void> {
  const { database, tokenHolders, revocations, clock, counters } = dependencies
  const isThere = await tokens.revokeToken(database, token.id, clock.now())
  tokenHolders.forget(token.id)
  if (!isThere) throw invalidToken()
  await revocations.publish({ kind: 'token', accessTokenHash: token.secretHash })
  counters.countToken('revoked')
}
