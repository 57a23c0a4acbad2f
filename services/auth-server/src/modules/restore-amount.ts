import type { Amount } from '@open-payments-server/value-types/amounts'

/**
 * Converts an amount from the database, where its parts are columns.
 *
 * @param value in the smallest unit of the asset, as a decimal string
 * @returns undefined where the columns are null
 */
export function restoreAmount(
  value: string | null,
  code: string | null,
  scale: number | null
): Amount | undefined {
  return value === null || code === null || scale === null
    ? undefined
    : { value: BigInt(value), asset: { code, scale } }
}
