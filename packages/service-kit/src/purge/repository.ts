import type { RawQueries, Statement } from '@open-payments-server/database'

/** Which rows are over long enough. */
export interface PurgeRange {
  /** The service's clock. */
  readonly now: Date
  /** How long ago they must have been over, in seconds. */
  readonly retentionSeconds: number
  /** Most rows of one batch. */
  readonly countMax: number
}

/** What a batch came to. */
export interface PurgedBatch {
  /** How many rows were looked at: fewer than asked for when there are no more. */
  readonly lookedAt: number
  readonly purged: number
}

/** What the statement of a kind is given: `now`, `retentionSeconds` and `countMax`. */
export type PurgeStatement = Statement<PurgedBatch>

/** One statement for each kind of row: see the README for what it takes and answers. */
export type PurgeStatements<Kind extends string> = Readonly<Record<Kind, PurgeStatement>>

/** Deletes what is over. */
export interface PurgeRepository<Kind extends string> {
  /** Deletes a batch of one kind, with one statement that leaves alone what somebody else has locked. */
  purge(kind: Kind, range: PurgeRange): Promise<PurgedBatch>
}

/** Deletes from PostgreSQL. Prisma's models have no words for rows that are passed over because they are locked. */
export function createPurgeRepository<Kind extends string>(
  database: RawQueries,
  statements: PurgeStatements<Kind>
): PurgeRepository<Kind> {
  return {
    async purge(kind, { now, retentionSeconds, countMax }) {
      const values = { now: now.toISOString(), retentionSeconds, countMax }
      const [batch] = await statements[kind].rows(database, values)
      if (batch === undefined) throw new Error('a statement that always answers a row answered none')
      return batch
    }
  }
}
