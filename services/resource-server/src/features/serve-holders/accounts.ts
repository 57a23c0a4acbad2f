import { findTitle } from '../../domain/holder.js'
import { findHeldAccounts, type HeldAccount } from '../../modules/ledger/index.js'
import { type HeldWalletAddress, listHeldWalletAddresses } from '../../modules/wallet-addresses/index.js'
import { type HoldingDependencies, type Person, readPerson } from '../holding.js'

/** An account of a person, with its wallet addresses. */
export interface AccountOfHolder extends HeldAccount {
  readonly walletAddresses: readonly (HeldWalletAddress & { readonly url: string })[]
}

/**
 * Finds the accounts that a person holds, by name: one statement.
 *
 * @throws CallRefused `invalid`
 */
export async function findAccountsOf(
  asked: Person,
  { database, holderClaim }: Pick<HoldingDependencies, 'database' | 'holderClaim'>
): Promise<readonly HeldAccount[]> {
  const person = readPerson(asked)
  const names = holderClaim?.issuer === person.issuer ? person.claimValues : []
  const found = await findHeldAccounts(database, person, names)
  return found.filter((account) => findTitle(person, account, holderClaim) !== undefined)
}

/**
 * Lists the accounts that a person holds, by name, with their wallet addresses: two statements.
 *
 * @param range.after name after which the list begins; all come after the empty one
 * @throws CallRefused `invalid`
 */
export async function listHolderAccounts(
  { after, limit, ...person }: Person & { readonly after: string; readonly limit: number },
  dependencies: HoldingDependencies
): Promise<readonly AccountOfHolder[]> {
  const held = await findAccountsOf(person, dependencies)
  const accounts = held.filter(({ accountName }) => accountName > after).slice(0, limit)
  if (accounts.length === 0) return []
  const { database, urls } = dependencies
  const walletAddresses = await listHeldWalletAddresses(
    database,
    accounts.map(({ id }) => id)
  )
  return accounts.map((account) => ({
    ...account,
    walletAddresses: walletAddresses
      .filter(({ accountId }) => accountId === account.id)
      .map((walletAddress) => ({ ...walletAddress, url: urls.ofWalletAddress(walletAddress.path) }))
  }))
}
