import type { Clock } from '@open-payments-server/runtime'
import type { PurgeCounter } from '../../domain/purge-counter.js'
import type { PurgeRepository } from './repository.js'

/** Most grants, and most tokens, of one batch. */
const ROWS_PER_BATCH_MAX = 500

const SECONDS_PER_DAY = 86_400

/** What purging needs. */
export interface PurgeDependencies {
  readonly repository: PurgeRepository
  readonly clock: Clock
  /** How long grants and tokens are kept once they are over, in days. */
  readonly retentionDays: number
  readonly countPurged: PurgeCounter
}

/**
 * Deletes one batch of what is over. Safe to run at any time, and beside itself.
 *
 * @returns whether there may be more
 */
export type PurgeBatch = () => Promise<boolean>

/** Deletes what is over in bounded batches. */
export function createPurge({
  repository,
  clock,
  retentionDays,
  countPurged
}: PurgeDependencies): PurgeBatch {
  return async () => {
    const range = {
      now: new Date(clock.now()),
      retentionSeconds: retentionDays * SECONDS_PER_DAY,
      countMax: ROWS_PER_BATCH_MAX
    }
    const grants = await repository.purgeGrants(range)
    countPurged('grant', grants.purged)
    const tokens = await repository.purgeTokens(range)
    countPurged('token', tokens.purged)
    return grants.lookedAt === ROWS_PER_BATCH_MAX || tokens.lookedAt === ROWS_PER_BATCH_MAX
  }
}
