import { lastIntervalEnd, parseRepeatingInterval } from './repeating-interval.js'

/** What counts of an access item for who is paid under it, and until when. */
export interface LimitedItem {
  readonly type: string
  readonly actions: readonly string[]
  readonly limits?:
    { readonly receiver?: string | undefined; readonly interval?: string | undefined } | undefined
}

/** Actions on what others made. They end with what pays: a last day is the last day of them too. See docs/decisions/ends.md. */
const ON_WHAT_OTHERS_MADE: ReadonlySet<string> = new Set(['read-all', 'list-all'])

/** Whether an action shows what others made. */
export function isOnWhatOthersMade(action: string): boolean {
  return ON_WHAT_OTHERS_MADE.has(action)
}

/** Whether an action of an access item pays. */
export function isPayment({ type }: Pick<LimitedItem, 'type'>, action: string): boolean {
  return type === 'outgoing-payment' && action === 'create'
}

/** Whether an access item lets its client pay. */
export function isPaying(item: LimitedItem): boolean {
  return item.actions.some((action) => isPayment(item, action))
}

/**
 * From when on nothing can be paid under a grant, because the last interval of every access item to pay is over, in milliseconds
 * since 1970.
 *
 * @returns undefined for a grant that goes on until it is ended, or is not to pay
 */
export function payableUntilMs(access: readonly LimitedItem[]): number | undefined {
  const ends = access.filter(isPaying).map(lastEndMs)
  const known = ends.filter((end) => end !== undefined)
  return known.length === 0 || known.length < ends.length ? undefined : Math.max(...known)
}

/** When the last interval of an access item ends; undefined without an interval, and where there is no last one. */
function lastEndMs({ limits }: LimitedItem): number | undefined {
  return limits?.interval === undefined ? undefined : lastIntervalEnd(parseRepeatingInterval(limits.interval))
}

/**
 * Whom a client may pay.
 *
 * @returns URLs of incoming payments, each once; null for anyone it chooses
 */
export function payeesOf(access: readonly LimitedItem[]): readonly string[] | null {
  const paying = access.filter(isPaying)
  const receivers = paying.flatMap(({ limits }) => limits?.receiver ?? [])
  return receivers.length < paying.length ? null : [...new Set(receivers)]
}
