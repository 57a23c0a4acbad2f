import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { isAccountName } from '../../domain/account-name.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { findAccount, type LedgerEntry, listEntriesOfAccount } from '../../modules/ledger/index.js'
import type { ShowPaymentsDependencies } from './payment-life.js'

/**
 * Lists what moved the money of an account, newest first.
 *
 * @throws CallRefused `invalid`, or `not-found` for the account
 */
export async function listAccountEntries(
  request: { readonly accountName: string; readonly after: PageEnd | undefined; readonly limit: number },
  { database }: Pick<ShowPaymentsDependencies, 'database'>
): Promise<readonly LedgerEntry[]> {
  const { accountName, ...range } = request
  if (!isAccountName(accountName))
    throw invalidCallField('account_name', 'must be 1 to 64 of a-z, 0-9, "-", "_" and "."')
  const account = await findAccount(database, accountName)
  if (account === undefined)
    throw new CallRefused('not-found', `there is no account ${accountName}`, { field: 'account_name' })
  return listEntriesOfAccount(database, account.id, range)
}
