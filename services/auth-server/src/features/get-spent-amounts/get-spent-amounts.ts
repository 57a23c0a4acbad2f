import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { chargeableItems, currentWindows } from '../../domain/limits.js'
import type { TokenAccessReader } from '../../domain/token-record.js'
import type { Database } from '../../modules/database.js'
import { readSpent, type SpentAmounts } from '../../modules/limits/index.js'

/** The result of a call. */
export type SpentAmountsResult =
  /**
   * `spent` is undefined before any payment reserved in the current interval. From then on it is a number: a payment that
   * failed, or was never made, returns its room, which leaves zero in the assets that were reported before.
   */
  | { readonly kind: 'found'; readonly spent: SpentAmounts | undefined }
  | { readonly kind: 'unknown-token' }
  | { readonly kind: 'inactive-token' }

/** What reading spent amounts needs. */
export interface GetSpentAmountsDependencies {
  readonly database: Database
  readonly tokens: TokenAccessReader
  readonly clock: Clock
}

/**
 * Returns what the grant of a token has spent in the current interval.
 *
 * @param accessToken value of the token
 */
export async function getSpentAmounts(
  accessToken: string,
  { database, tokens, clock }: GetSpentAmountsDependencies
): Promise<SpentAmountsResult> {
  const nowMs = clock.now()
  const tokenHash = hashSecret(accessToken)
  const access = await tokens.accessOf(tokenHash)
  if (access === undefined) return { kind: 'unknown-token' }
  const windows = currentWindows(chargeableItems(access.items), nowMs)
  const { tokenActive, spent } = await readSpent(database, tokenHash, windows, nowMs)
  return tokenActive ? { kind: 'found', spent } : { kind: 'inactive-token' }
}
