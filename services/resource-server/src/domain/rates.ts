import { type Asset, type FeeSchedule, NO_FEES, type Rate } from '@open-payments-server/value-types/amounts'

/** Where exchange rates come from. */
export interface RateProvider {
  /**
   * The rate from one asset to another: target major units for one source major unit. Assets of one code are one to one,
   * whatever their scales.
   *
   * @returns undefined when the two cannot be exchanged
   * @throws Refusal `rates-unavailable` when the rate cannot be had now
   */
  getRate(source: Asset, target: Asset): Promise<Rate | undefined>
}

/** The provider's fees, by asset code of the sender. */
export type FeeTable = ReadonlyMap<string, FeeSchedule>

/** What a payment from an asset costs. */
export function feesOf(fees: FeeTable, source: Asset): FeeSchedule {
  return fees.get(source.code) ?? NO_FEES
}
