import type { Clock } from '@open-payments-server/runtime'
import {
  chargeableItems,
  contentHash,
  coverPayment,
  currentWindows,
  type PaymentContent,
  type RefusalReason,
  type Window
} from '../../domain/limits.js'
import type { GrantedAccessItem, TokenAccessReader } from '../../domain/token-record.js'
import type {
  RecordedReservation,
  ReservationRequest,
  ReserveLimitsRepository,
  SpentValues
} from './repository.js'

/** What was decided about a payment. */
export type ReserveOutcome =
  /** There was room, and it is taken: by this call, or `repeated` by an earlier one. `spent` includes the payment. */
  | {
      readonly outcome: 'reserved'
      readonly grantId: string
      readonly spent: SpentValues
      readonly repeated: boolean
    }
  /** There was none, and there never will be for this payment id. */
  | { readonly outcome: 'refused'; readonly reason: RefusalReason }
  /** The payment id was used for something else. */
  | { readonly outcome: 'mismatch' }

/**
 * Reserves a payment's amounts under the grant of a token. The same id with the same content is answered the same again.
 *
 * @param paymentId UUID
 */
export type ReserveLimits = (paymentId: string, content: PaymentContent) => Promise<ReserveOutcome>

/** What reserving needs. */
export interface ReserveLimitsDependencies {
  readonly repository: ReserveLimitsRepository
  readonly tokenAccess: TokenAccessReader
  readonly clock: Clock
}

export function createReserveLimits({
  repository,
  tokenAccess,
  clock
}: ReserveLimitsDependencies): ReserveLimits {
  return async (paymentId, content) => {
    const now = new Date(clock.now())
    const request: ReservationRequest = { paymentId, content, contentHash: contentHash(content), now }
    const access = await tokenAccess.accessOf(content.tokenHash)
    const items = access?.items ?? []
    const { candidates, refusal } = coverPayment(items, content, now)
    const chargeable = chargeableItems(items)

    for (const window of candidates) {
      const result = await repository.reserve(request, window, chargeable.length)
      if (result.outcome === 'twin') break
      if (result.outcome === 'none') continue
      const spent = result.spent ?? (await completeSpent(repository, request, window, chargeable))
      return { outcome: 'reserved', grantId: result.grantId, spent, repeated: false }
    }
    const recorded = await repository.refuse(request, access === undefined ? 'token_inactive' : refusal)
    return answer(recorded, request, chargeable, repository)
  }
}

/** Answers from what is recorded under the payment id: the refusal just made, or what was there before. */
async function answer(
  recorded: RecordedReservation,
  request: ReservationRequest,
  chargeable: readonly GrantedAccessItem[],
  repository: ReserveLimitsRepository
): Promise<ReserveOutcome> {
  const { state, refusalReason, grantId, window } = recorded
  // Whoever released it had given up, and whoever asks again must not believe that room is held. Whatever the content: it is
  // over for this id, and the caller may go on with another.
  if (state === 'released') return { outcome: 'refused', reason: 'released' }
  if (recorded.contentHash !== undefined && !recorded.contentHash.equals(request.contentHash)) {
    return { outcome: 'mismatch' }
  }
  if (refusalReason !== undefined) return { outcome: 'refused', reason: refusalReason }
  if (grantId === undefined || window === undefined)
    throw new Error(`a reservation is ${state} without a window`)
  const spent = recorded.spent ?? (await completeSpent(repository, request, window, chargeable))
  return { outcome: 'reserved', grantId, spent, repeated: true }
}

/** Over all items that payments can be charged to: each in its current interval, but the payment's own in the payment's. */
function completeSpent(
  repository: ReserveLimitsRepository,
  request: ReservationRequest,
  own: Window,
  chargeable: readonly GrantedAccessItem[]
): Promise<SpentValues> {
  const others = chargeable.filter((item) => item.id !== own.accessItemId)
  return repository.completeSpent(request, [own, ...currentWindows(others, request.now)])
}
