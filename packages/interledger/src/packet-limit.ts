import { decodeAmountTooLarge } from './amount-too-large.js'
import { least } from './fraction.js'

/**
 * What the path takes at once, after it rejected a packet as too large (F08), in our units. Without data in the Reject, or with
 * data that makes no sense, half of the packet.
 *
 * @param sendValue the packet's amount, which is positive
 * @returns less than `sendValue`
 */
export function limitFromReject(
  sendValue: bigint,
  data: Buffer
): { readonly value: bigint; readonly isExact: boolean } {
  const told = decodeAmountTooLarge(data)
  if (told === undefined) return { value: sendValue / 2n, isExact: false }
  const value = (sendValue * told.maximumValue) / told.receivedValue
  return { value: least(value, sendValue - 1n), isExact: true }
}
