import type { wallet } from '@open-payments-server/proto'
import { parseAmountValue } from '@open-payments-server/value-types/amounts'
import { assetOf } from '../messages.js'
import { amountCell, type Column, instantText } from '../output.js'

/** The columns of entries of the ledger. */
export const ENTRY_COLUMNS: readonly Column<wallet.LedgerEntry>[] = [
  ['Created', ({ createTime }) => instantText(createTime)],
  ['Kind', ({ kind }) => kind],
  ['State', ({ state }) => state],
  ['Debited', ({ debitAccount }) => debitAccount],
  ['Credited', ({ creditAccount }) => creditAccount],
  [
    'Amount',
    ({ value, asset }) => amountCell({ value: parseAmountValue(value), asset: assetOf(asset) }),
    'right'
  ],
  [
    'Posted',
    ({ postedValue, asset }) =>
      postedValue === '' ? '-' : amountCell({ value: parseAmountValue(postedValue), asset: assetOf(asset) }),
    'right'
  ],
  ['Of', ({ paymentId }) => (paymentId === '' ? '-' : paymentId)]
]
