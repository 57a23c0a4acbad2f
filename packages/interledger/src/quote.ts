import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { type Fraction, inverse, least, timesRoundedDown, timesRoundedUp } from './fraction.js'
import type { PathRate } from './path-rate.js'

/** Ten thousandths in one. */
const BASIS_POINTS = 10_000n

/** The reserve for rates that change between quote and payment: 0.5 %. */
export const DEFAULT_SLIPPAGE_BASIS_POINTS = 50

/** The bounds of a payment over Interledger. */
export interface SendTerms {
  /** The most that may be sent, in the smallest units of the asset that we account in with the peer. */
  readonly sendMaxValue: bigint
  /** What the receiver is to get, in its smallest units. */
  readonly deliverValue: bigint
}

/**
 * What can be promised to the receiver for what is sent: rounded down, at the lowest rate that the path may have, less the reserve.
 * `deliverValue` is `0n` when that is too little.
 *
 * @param slippageBasisPoints the reserve, 0 to 9,999. None is needed where the rate cannot change, as with one asset all the way.
 */
export function termsFromSend(sendMaxValue: bigint, rate: PathRate, slippageBasisPoints: number): SendTerms {
  const deliverValue = timesRoundedDown(sendMaxValue, reserved(rate, slippageBasisPoints))
  return { sendMaxValue, deliverValue: least(deliverValue, UINT64_MAX) }
}

/**
 * What must be available for sending so that the receiver surely gets an amount: rounded up.
 *
 * @returns undefined when nothing arrives over this path, or the amount does not fit in 64 bits
 */
export function termsFromDeliver(
  deliverValue: bigint,
  rate: PathRate,
  slippageBasisPoints: number
): SendTerms | undefined {
  const worst = reserved(rate, slippageBasisPoints)
  if (worst.numerator === 0n) return undefined
  const sendMaxValue = timesRoundedUp(deliverValue, inverse(worst))
  return sendMaxValue > UINT64_MAX ? undefined : { sendMaxValue, deliverValue }
}

/** The lowest rate that the terms allow for. */
function reserved({ low }: PathRate, slippageBasisPoints: number): Fraction {
  if (!Number.isInteger(slippageBasisPoints) || slippageBasisPoints < 0 || slippageBasisPoints > 9_999) {
    throw new RangeError('slippageBasisPoints must be an integer from 0 to 9,999')
  }
  return {
    numerator: low.numerator * (BASIS_POINTS - BigInt(slippageBasisPoints)),
    denominator: low.denominator * BASIS_POINTS
  }
}
