export { AmountError } from './amount-error.js'
export {
  type Amount,
  type AmountWire,
  type Asset,
  ASSET_CODE_LENGTH_MAX,
  ASSET_SCALE_MAX,
  describeAmount,
  formatAmount,
  formatMajorUnits,
  isSameAsset,
  parseAmount,
  parseAmountValue,
  parseMajorUnits,
  UINT64_MAX
} from './amount.js'
export { assertFeeSchedule, type FeeSchedule, NO_FEES } from './fees.js'
export {
  debitForPartialReceive,
  minimumDebit,
  type QuotedAmounts,
  quoteFromDebit,
  quoteFromReceive,
  type QuoteTerms
} from './quoted-amounts.js'
export { parseRate, type Rate, RATE_ONE, unitRatio } from './rate.js'
export { readAmount } from './read-amount.js'
export {
  parseThresholds,
  reachesThreshold,
  reachThresholds,
  type Threshold,
  type Thresholds
} from './thresholds.js'
