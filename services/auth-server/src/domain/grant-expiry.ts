import { isOnWhatOthersMade, isPayment, payableUntilMs } from '@open-payments-server/value-types/intervals'
import type { AccessItem } from './access.js'

/** How long before a grant ends it is told, in milliseconds. */
export const EXPIRING_LEAD_MS = 86_400_000

/**
 * What access still allows once nothing can be paid under its grant any more: what shows the client what others made has ended, and
 * items that allowed nothing else with it.
 *
 * @returns the same list where nothing has ended
 */
export function accessAfterPayments<Item extends AccessItem>(access: readonly Item[]): readonly Item[] {
  if (!access.some(({ actions }) => actions.some(isOnWhatOthersMade))) return access
  return access
    .map((item) => ({ ...item, actions: item.actions.filter((action) => !isOnWhatOthersMade(action)) }))
    .filter(({ actions }) => actions.length > 0)
}

/**
 * What access allows at an instant.
 *
 * @param access of a grant, all of it
 */
export function accessAt<Item extends AccessItem>(access: readonly Item[], nowMs: number): readonly Item[] {
  return nowMs < (payableUntilMs(access) ?? Infinity) ? access : accessAfterPayments(access)
}

/**
 * From when on nothing can be done or seen under a grant, in milliseconds since 1970: nothing can be paid, and that was all.
 *
 * @returns undefined for one of which something is left that has no end
 */
export function usableUntilMs(access: readonly AccessItem[]): number | undefined {
  const isLeft = accessAfterPayments(access).some((item) =>
    item.actions.some((action) => !isPayment(item, action))
  )
  return isLeft ? undefined : payableUntilMs(access)
}
