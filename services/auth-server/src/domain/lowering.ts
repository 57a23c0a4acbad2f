import { type Amount, isSameAsset } from '@open-payments-server/value-types/amounts'
import type { Limits } from './access.js'
import { invalidCallField } from './call-refused.js'
import { chargeableItems } from './limits.js'
import type { GrantedAccessItem } from './token-record.js'

/** Lower limits of an access item. */
export interface LoweredLimits {
  /** Its place in the access of the grant, from 0. */
  readonly accessIndex: number
  /** undefined leaves it as it is; so does the other. */
  readonly debitAmount: Amount | undefined
  readonly receiveAmount: Amount | undefined
}

/**
 * Lowers limits of access items. A limit that is repeated stays as it is.
 *
 * @param access in force
 * @returns all items, those that are not lowered as they were
 * @throws CallRefused `invalid` naming the field that is malformed or would allow more
 */
export function lowerAccess(
  access: readonly GrantedAccessItem[],
  lowered: readonly LoweredLimits[]
): readonly GrantedAccessItem[] {
  const result = [...access]
  lowered.forEach((limits, index) => {
    const field = `limits[${String(index)}]`
    const { accessIndex, debitAmount, receiveAmount } = limits
    if (lowered.findIndex((other) => other.accessIndex === accessIndex) !== index)
      throw invalidCallField(`${field}.access_index`, 'must be there once')
    const item = access[accessIndex]
    if (item === undefined || chargeableItems([item]).length === 0)
      throw invalidCallField(
        `${field}.access_index`,
        'must be the place of an item that allows creating outgoing payments'
      )
    if (debitAmount === undefined && receiveAmount === undefined)
      throw invalidCallField(`${field}.debit_amount`, 'or receive_amount must be given')
    // What was received in other assets is not counted, so a limit on it can only be there from the beginning.
    if (receiveAmount !== undefined && item.limits?.receiveAmount === undefined)
      throw invalidCallField(`${field}.receive_amount`, 'must be absent, because no limit is on it')
    result[accessIndex] = {
      ...item,
      limits: {
        ...item.limits,
        ...lower('debitAmount', item.limits?.debitAmount, debitAmount, `${field}.debit_amount`),
        ...lower('receiveAmount', item.limits?.receiveAmount, receiveAmount, `${field}.receive_amount`)
      }
    }
  })
  return result
}

function lower(
  name: 'debitAmount' | 'receiveAmount',
  inForce: Amount | undefined,
  lowered: Amount | undefined,
  field: string
): Pick<Limits, 'debitAmount' | 'receiveAmount'> {
  if (lowered === undefined) return {}
  if (inForce !== undefined && !isSameAsset(inForce.asset, lowered.asset))
    throw invalidCallField(`${field}.asset_code`, 'must be the asset of the limit in force, with its scale')
  if (inForce !== undefined && lowered.value > inForce.value)
    throw invalidCallField(`${field}.value`, `must be at most ${String(inForce.value)}, which is in force`)
  return { [name]: lowered }
}

/** Whether the limits of two lists of the same access items are the same. */
export function isSameAccess(
  one: readonly GrantedAccessItem[],
  other: readonly GrantedAccessItem[]
): boolean {
  return one.every(({ limits }, index) => {
    const others = other[index]?.limits
    return (
      limits?.debitAmount?.value === others?.debitAmount?.value &&
      limits?.receiveAmount?.value === others?.receiveAmount?.value
    )
  })
}

/**
 * Checks an end that is to be set.
 *
 * @param inForce when the grant ends by now; undefined when it does not
 * @throws CallRefused `invalid` for one that is past, or later than the one in force
 */
export function checkEnd(endsAtMs: number, inForce: number | undefined, nowMs: number): void {
  if (endsAtMs <= nowMs) throw invalidCallField('end_time', 'must be in the future')
  if (inForce !== undefined && endsAtMs > inForce)
    throw invalidCallField(
      'end_time',
      `must not be later than ${new Date(inForce).toISOString()}, which is in force`
    )
}
