/**
 * A value that is not an amount, or a computation that has no answer in unsigned 64-bit integers.
 *
 * The message is fit for the caller: `field`, then `problem`. `field` names what is wrong, in the terms of the wire: `value`,
 * `assetCode`, `assetScale`, `rate`, `fees.fixed`, `fees.basisPoints`, `received`. Callers that know it by another name put
 * that before `problem`.
 */
export class AmountError extends Error {
  override readonly name = 'AmountError'

  constructor(
    readonly field: string,
    /** What is wrong with the field, without its name: `must be positive`. */
    readonly problem: string
  ) {
    super(`${field} ${problem}`)
  }
}
