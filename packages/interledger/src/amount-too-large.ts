/** How far a packet was above the maximum of whoever rejected it, in the units that the packet had there. */
export interface AmountTooLarge {
  readonly receivedValue: bigint
  readonly maximumValue: bigint
}

const UINT64_BYTES = 8

/** Writes the data of a Reject with code F08 (IL-RFC 27 §3): two unsigned 64-bit integers. */
export function encodeAmountTooLarge({ receivedValue, maximumValue }: AmountTooLarge): Buffer {
  const data = Buffer.alloc(2 * UINT64_BYTES)
  data.writeBigUInt64BE(receivedValue, 0)
  data.writeBigUInt64BE(maximumValue, UINT64_BYTES)
  return data
}

/**
 * Reads the data of a Reject with code F08.
 *
 * @returns undefined when there is none, or it contradicts itself: nothing is too large that is not above the maximum
 */
export function decodeAmountTooLarge(data: Buffer): AmountTooLarge | undefined {
  if (data.length < 2 * UINT64_BYTES) return undefined
  const receivedValue = data.readBigUInt64BE(0)
  const maximumValue = data.readBigUInt64BE(UINT64_BYTES)
  return receivedValue > maximumValue ? { receivedValue, maximumValue } : undefined
}
