import { instantText, type RawQueries, type Statement } from '@open-payments-server/database'

/** Which rows to delete. */
export interface PurgeRange {
  /** The service's clock. */
  readonly nowMs: number
  /** How long ago they must have ended, in seconds. */
  readonly retentionSeconds: number
  /** Maximum number of rows of one batch. */
  readonly countMax: number
}

/** The result of a batch. */
export interface PurgedBatch {
  /** Number of rows checked: fewer than requested when there are no more. */
  readonly lookedAt: number
  readonly purged: number
}

/** The parameters of a kind's statement: `now`, `retentionSeconds` and `countMax`. */
export type PurgeStatement = Statement<PurgedBatch>

/** One statement for each kind of row: see the README for its parameters and result. */
export type PurgeStatements<Kind extends string> = Readonly<Record<Kind, PurgeStatement>>

/** Deletes ended data. */
export interface PurgeRepository<Kind extends string> {
  /** Deletes a batch of one kind, with one statement that skips locked rows. */
  purge(kind: Kind, range: PurgeRange): Promise<PurgedBatch>
}

/** Deletes from PostgreSQL. Prisma's models cannot skip locked rows. */
export function createPurgeRepository<Kind extends string>(
  database: RawQueries,
  statements: PurgeStatements<Kind>
): PurgeRepository<Kind> {
  return {
    async purge(kind, { nowMs, retentionSeconds, countMax }) {
      const values = { now: instantText(nowMs), retentionSeconds, countMax }
      const [batch] = await statements[kind].rows(database, values)
      if (batch === undefined) throw new Error('a statement that always answers a row answered none')
      return batch
    }
  }
}
