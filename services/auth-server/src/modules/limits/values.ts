import { type Amount, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { Prisma } from '../database.js'

/** Fragment: the largest value of an amount. */
export const LARGEST_VALUE = Prisma.raw(UINT64_MAX.toString())

/** State of a reservation. */
export type ReservationState = 'open' | 'settled' | 'released' | 'refused'

/** What was spent under a grant, in the assets of a payment. */
export interface SpentValues {
  readonly debit: bigint
  readonly receive: bigint
}

/** Spent amounts in a row: both null until summed up. */
export interface SpentColumns {
  readonly spent_debit: string | null
  readonly spent_receive: string | null
}

/** @returns undefined until summed up */
export function spentOf({ spent_debit, spent_receive }: SpentColumns): SpentValues | undefined {
  return spent_debit === null || spent_receive === null
    ? undefined
    : { debit: BigInt(spent_debit), receive: BigInt(spent_receive) }
}

/** The amounts of a reservation in a row: all null if nothing was ever reserved. */
export interface AmountColumns {
  readonly debit: string | null
  readonly debit_code: string | null
  readonly debit_scale: number | null
  readonly receive: string | null
  readonly receive_code: string | null
  readonly receive_scale: number | null
}

/** @returns undefined if nothing was ever reserved */
export function amountsOf(row: AmountColumns): { debit: Amount; receive: Amount } | undefined {
  const debit = amountOf(row.debit, row.debit_code, row.debit_scale)
  const receive = amountOf(row.receive, row.receive_code, row.receive_scale)
  return debit && receive && { debit, receive }
}

function amountOf(value: string | null, code: string | null, scale: number | null): Amount | undefined {
  return value === null || code === null || scale === null
    ? undefined
    : { value: BigInt(value), asset: { code, scale } }
}
