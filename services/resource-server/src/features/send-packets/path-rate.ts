import type { Fraction, PathRate } from '@open-payments-server/interledger'
import { type Asset, RATE_ONE, unitRatio } from '@open-payments-server/value-types/amounts'
import { noRate } from '../../domain/errors.js'
import type { RateProvider } from '../../domain/rates.js'

/** How much worse than our own rate the way may be, in percent: others have spreads, but nobody pays for a mistake. */
const WORSE_MAX_PERCENT = 5n

/** Any rate at all: enough for probes where a payment's terms say which one is. */
export const ANY_RATE: Fraction = Object.freeze({ numerator: 0n, denominator: 1n })

/**
 * The least acceptable rate of a way: the receiver's smallest units for one of ours. Without a rate of our own there is none: the receiver
 * alone would say what its amount costs, however high.
 *
 * @param source the asset that is accounted in with the peer
 * @param target the receiver's asset
 * @throws Refusal `not-payable` when we have no rate; `rates-unavailable` when it is not available now
 */
export async function leastRate(source: Asset, target: Asset, rates: RateProvider): Promise<Fraction> {
  const rate = await rates.getRate(source, target)
  if (rate === undefined) throw noRate(source.code, target.code)
  const { multiplier, divisor } = unitRatio(source, target, rate)
  return { numerator: multiplier * (100n - WORSE_MAX_PERCENT), denominator: divisor * 100n }
}

/**
 * The reserve for a way whose rate may change until the payment, in basis points. None for one that is in one currency all the way, and takes
 * nothing.
 */
export function reserveOf(
  { low }: PathRate,
  {
    source,
    target,
    basisPoints
  }: { readonly source: Asset; readonly target: Asset; readonly basisPoints: number }
): number {
  if (source.code !== target.code) return basisPoints
  const { multiplier, divisor } = unitRatio(source, target, RATE_ONE)
  const isOneToOne = low.numerator * divisor === low.denominator * multiplier
  return isOneToOne ? 0 : basisPoints
}
