import { type Clock, hashSecret } from '@open-payments-server/runtime'
import { chargeableItems, currentWindows } from '../../domain/limits.js'
import type { TokenAccessReader } from '../../domain/token-record.js'
import type { Database } from '../../modules/database.js'
import { readSpent, type SpentAmounts } from '../../modules/limits/index.js'

/** What became of a call. */
export type SpentAmountsOutcome =
  /**
   * `spent` is undefined before any payment took room in the current interval. From then on it is a number: a payment that
   * failed, or never came to be, gives its room back, and what is left of it is zero in the assets that were told before.
   */
  | { readonly outcome: 'found'; readonly spent: SpentAmounts | undefined }
  | { readonly outcome: 'token_unknown' }
  | { readonly outcome: 'token_inactive' }

/**
 * Tells what the grant of a token has spent in the current interval.
 *
 * @param accessToken value of the token
 */
export type GetSpentAmounts = (accessToken: string) => Promise<SpentAmountsOutcome>

/** What it needs. */
export interface GetSpentAmountsDependencies {
  readonly database: Database
  readonly tokenAccess: TokenAccessReader
  readonly clock: Clock
}

export function createGetSpentAmounts(dependencies: GetSpentAmountsDependencies): GetSpentAmounts {
  const { database, tokenAccess, clock } = dependencies
  return async (accessToken) => {
    const now = new Date(clock.now())
    const tokenHash = hashSecret(accessToken)
    const access = await tokenAccess.accessOf(tokenHash)
    if (access === undefined) return { outcome: 'token_unknown' }
    const windows = currentWindows(chargeableItems(access.items), now)
    const { tokenActive, spent } = await readSpent(database, tokenHash, now, windows)
    return tokenActive ? { outcome: 'found', spent } : { outcome: 'token_inactive' }
  }
}
