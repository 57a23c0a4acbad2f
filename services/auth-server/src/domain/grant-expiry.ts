import { lastIntervalEnd, parseRepeatingInterval } from '@open-payments-server/value-types/intervals'
import type { AccessItem } from './access.js'

/** How long before a grant ends it is told, in milliseconds. */
export const EXPIRING_LEAD_MS = 86_400_000

/**
 * From when on nothing can be paid under a grant, because the last interval of every access item to pay is over, in milliseconds
 * since 1970.
 *
 * @returns undefined for a grant that goes on until it is ended, or is not to pay
 */
export function payableUntilMs(access: readonly AccessItem[]): number | undefined {
  const ends = access
    .filter(({ type, actions }) => type === 'outgoing-payment' && actions.includes('create'))
    .map(({ limits }) =>
      limits?.interval === undefined ? undefined : lastIntervalEnd(parseRepeatingInterval(limits.interval))
    )
  const known = ends.filter((end) => end !== undefined)
  return known.length === 0 || known.length < ends.length ? undefined : Math.max(...known)
}
