import { type Amount, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import type { SettledValues } from '../../domain/ends.js'
import { Prisma } from '../database.js'
import { restoreAmount } from '../restore-amount.js'

/** Fragment: the largest value of an amount. */
export const LARGEST_VALUE = Prisma.raw(UINT64_MAX.toString())

/** State of a reservation. */
export type ReservationState = 'open' | 'settled' | 'released' | 'refused'

/** What was spent under a grant, in the assets of a payment. */
export interface SpentValues {
  readonly spentDebitValue: bigint
  readonly spentReceiveValue: bigint
}

/** Spent amounts in a row: both null until summed up. */
export interface SpentColumns {
  readonly spent_debit_value: string | null
  readonly spent_receive_value: string | null
}

/** @returns undefined until summed up */
export function spentOf({
  spent_debit_value: debit,
  spent_receive_value: receive
}: SpentColumns): SpentValues | undefined {
  return debit === null || receive === null
    ? undefined
    : { spentDebitValue: BigInt(debit), spentReceiveValue: BigInt(receive) }
}

/** What a payment settled with, in a row: both null unless settled. */
export interface SettledColumns {
  readonly settled_debit_value: string | null
  readonly settled_receive_value: string | null
}

/** @returns undefined unless settled */
export function settledOf({
  settled_debit_value: debit,
  settled_receive_value: receive
}: SettledColumns): SettledValues | undefined {
  return debit === null || receive === null
    ? undefined
    : { settledDebitValue: BigInt(debit), settledReceiveValue: BigInt(receive) }
}

/** The amounts of a reservation in a row: all null if nothing was ever reserved. */
export interface AmountColumns {
  readonly debit_value: string | null
  readonly debit_code: string | null
  readonly debit_scale: number | null
  readonly receive_value: string | null
  readonly receive_code: string | null
  readonly receive_scale: number | null
}

/** What was reserved for a payment. */
export interface ReservedAmounts {
  readonly debitAmount: Amount
  readonly receiveAmount: Amount
}

/** @returns undefined if nothing was ever reserved */
export function amountsOf(row: AmountColumns): ReservedAmounts | undefined {
  const debitAmount = restoreAmount(row.debit_value, row.debit_code, row.debit_scale)
  const receiveAmount = restoreAmount(row.receive_value, row.receive_code, row.receive_scale)
  return debitAmount && receiveAmount && { debitAmount, receiveAmount }
}
