import type { Clock } from '@open-payments-server/runtime'
import type { TokenAccessReader, TokenCache } from '../../domain/token-record.js'
import type { TokenRepository } from './repository.js'

/** Reads what tokens allow from memory, and from the database when it is not there. */
export function createTokenAccessReader(
  cache: TokenCache,
  repository: TokenRepository,
  clock: Clock
): TokenAccessReader {
  return {
    accessOf: async (tokenHash) =>
      (cache.get(tokenHash) ?? (await repository.findToken(tokenHash, new Date(clock.now()))))?.access
  }
}
