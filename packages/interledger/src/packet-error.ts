/**
 * Bytes that are no packet, or a packet that cannot be written. `field` names what is wrong, in the terms of IL-RFC 27: `packet`
 * when nothing of it can be read, `amount`, `expiresAt`, `executionCondition`, `destination`, `fulfillment`, `code`,
 * `triggeredBy`. The message is fit for whoever sent the bytes.
 */
export class PacketError extends Error {
  override readonly name = 'PacketError'

  constructor(
    readonly field: string,
    /** What is wrong with the field, without its name: `must have 32 bytes`. */
    readonly problem: string,
    options?: ErrorOptions
  ) {
    super(`${field} ${problem}`, options)
  }
}
