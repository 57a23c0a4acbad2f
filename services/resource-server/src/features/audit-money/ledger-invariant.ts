import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Database } from '../../modules/database.js'

/** An invariant of the ledger as database queries: the number of rows, and which of them violate it. */
export interface LedgerInvariant {
  readonly invariant: string
  /** Returns one number, `count`; and a text `told` to add to the invariant, if there is more to report. */
  readonly count: string
  /** Returns one sentence for each violation, `violation`. */
  readonly violations: string
  /** The parameters of `violations`; none unless given. */
  readonly values?: (dependencies: LedgerCheckDependencies) => unknown[]
}

/** What checking the ledger needs. */
export interface LedgerCheckDependencies {
  /** For reading whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly urls: ResourceUrls
}

/** Prefix of the URL of every incoming payment hosted here, as `$1`. */
export const receiverPrefix = ({ urls }: LedgerCheckDependencies): unknown[] => [
  urls.of('incoming-payments', '')
]
