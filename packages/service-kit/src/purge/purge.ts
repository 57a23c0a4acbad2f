import type { Clock } from '@open-payments-server/value-types/clock'
import type { PurgeRepository } from './repository.js'

/** Maximum number of rows of one batch, of each kind. */
const ROWS_PER_BATCH_MAX = 500

const SECONDS_PER_DAY = 86_400

/** What purging needs. */
export interface PurgeDependencies<Kind extends string> {
  readonly repository: PurgeRepository<Kind>
  /** What is deleted, in this order. */
  readonly kinds: readonly Kind[]
  readonly clock: Clock
  /** How long rows are kept after they end, in days. */
  readonly retentionDays: number
  readonly countPurged: (kind: Kind, count: number) => void
}

/**
 * Deletes one batch of ended rows. May run at any time, and several times at once.
 *
 * @returns whether there may be more
 */
export type PurgeBatch = () => Promise<boolean>

/** Deletes ended data in bounded batches. */
export function createPurge<Kind extends string>({
  repository,
  kinds,
  clock,
  retentionDays,
  countPurged
}: PurgeDependencies<Kind>): PurgeBatch {
  return async () => {
    const range = {
      nowMs: clock.now(),
      retentionSeconds: retentionDays * SECONDS_PER_DAY,
      countMax: ROWS_PER_BATCH_MAX
    }
    let more = false
    for (const kind of kinds) {
      const { lookedAt, purged } = await repository.purge(kind, range)
      countPurged(kind, purged)
      more ||= lookedAt === ROWS_PER_BATCH_MAX
    }
    return more
  }
}
