/**
 * A value that is not an amount, or a computation that has no answer in unsigned 64-bit integers.
 *
 * The message is fit for the caller. `field` names what is wrong, in the terms of the wire: `value`,
 * `assetCode`, `assetScale`, `rate`, `fees.fixed`, `fees.basisPoints`, `received`.
 */
export class AmountError extends Error {
  override readonly name = 'AmountError'

  constructor(
    readonly field: string,
    message: string
  ) {
    super(message)
  }
}
