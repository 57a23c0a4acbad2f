import type { Clock } from '@open-payments-server/runtime'
import { type PurgeCounter, PURGED_KINDS } from '../../domain/purge-counter.js'
import type { PurgeRepository } from './repository.js'

/** Most rows of one batch, of each kind. */
const ROWS_PER_BATCH_MAX = 500

const SECONDS_PER_DAY = 86_400

/** What purging needs. */
export interface PurgeDependencies {
  readonly repository: PurgeRepository
  readonly clock: Clock
  /** How long quotes and incoming payments are kept once they have expired, in days. */
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
    let more = false
    for (const kind of PURGED_KINDS) {
      const { lookedAt, purged } = await repository.purge(kind, range)
      countPurged(kind, purged)
      more ||= lookedAt === ROWS_PER_BATCH_MAX
    }
    return more
  }
}
