import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import {
  AmountError,
  assertFeeSchedule,
  ASSET_CODE_LENGTH_MAX,
  type FeeSchedule,
  parseAmountValue
} from '@open-payments-server/value-types/amounts'
import type { FeeTable } from '../../domain/rates.js'

/** `CODE=fixed+basis points` */
const ENTRY = /^([^/=\s]+)=(\d+)\+(\d{1,5})$/

/**
 * Fees from the configuration, such as `USD=10+50,EUR=0+25`: a fixed part in units of the sender's asset, and basis points
 * of the debit.
 *
 * @param text the table; undefined for no fees
 * @throws ConfigurationError naming FEES and the entry that is wrong
 */
export function parseFeeTable(text: string | undefined): FeeTable {
  const fees = new Map<string, FeeSchedule>()
  for (const entry of (text ?? '').split(',').map((part) => part.trim())) {
    if (entry === '') continue
    const { code, schedule } = parseEntry(entry)
    if (fees.has(code)) throw malformed(entry, `the fees of ${code} are given twice`)
    fees.set(code, schedule)
  }
  return fees
}

function parseEntry(entry: string): { code: string; schedule: FeeSchedule } {
  const [, code = '', fixed = '', basisPoints = ''] = ENTRY.exec(entry) ?? []
  if (code === '') throw malformed(entry, 'expected CODE=fixed+basis points')
  if (code.length > ASSET_CODE_LENGTH_MAX) {
    throw malformed(entry, `asset codes have at most ${String(ASSET_CODE_LENGTH_MAX)} characters`)
  }
  try {
    const schedule = { fixed: parseAmountValue(fixed), basisPoints: Number(basisPoints) }
    assertFeeSchedule(schedule)
    return { code, schedule }
  } catch (error) {
    if (error instanceof AmountError) throw malformed(entry, error.message)
    throw error
  }
}

function malformed(entry: string, reason: string): ConfigurationError {
  return new ConfigurationError([
    `FEES: ${reason} in "${entry.slice(0, 100)}". Example: FEES=USD=10+50,EUR=0+25`
  ])
}
