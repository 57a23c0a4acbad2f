import { type Asset, type FeeSchedule, NO_FEES, type Rate } from '@open-payments-server/value-types/amounts'

/** Where exchange rates come from. */
export interface RateProvider {
  /**
   * The rate from one asset to another: target major units per source major unit. Assets with the same code convert one to
   * one, whatever their scales.
   *
   * @returns undefined when the two cannot be exchanged
   * @throws Refusal `rates-unavailable` when the rate is not available now
   */
  getRate(source: Asset, target: Asset): Promise<Rate | undefined>
}

/** Whether a rate is needed from one asset to another: assets with the same code convert one to one, whatever their scales. */
export function isExchanged(source: Asset, target: Asset): boolean {
  return source.code !== target.code
}

/** The provider's fees, by asset code of the sender. */
export type FeeTable = ReadonlyMap<string, FeeSchedule>

/** The fees of a payment from an asset. */
export function feesOf(fees: FeeTable, source: Asset): FeeSchedule {
  return fees.get(source.code) ?? NO_FEES
}
