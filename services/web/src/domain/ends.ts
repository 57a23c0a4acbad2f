import { isOnWhatOthersMade, isPaying, isPayment } from '@open-payments-server/value-types/intervals'
import type { AskedItem } from './grant.js'

/** Whether an action ends when nothing can be paid any more. */
export function endsWithPayments(item: AskedItem, action: string): boolean {
  return isPayment(item, action) || isOnWhatOthersMade(action)
}

/** Whether a last day can be set for all of it: not where one receiver is paid, and nothing else is to be seen than that. */
export function takesLastDay(items: readonly AskedItem[]): boolean {
  return items.some(
    (item) => !isPaying(item) || item.limits?.receiver === undefined || item.actions.some(isOnWhatOthersMade)
  )
}
