import { isAccountName } from '../domain/account-name.js'
import { CallRefused, invalidCallField } from '../domain/call-refused.js'
import {
  type AccountHolding,
  type Claimant,
  findHolderProblem,
  findTitle,
  type Holder,
  type HolderClaim
} from '../domain/holder.js'
import type { ResourceUrls } from '../domain/resource-urls.js'
import { findPathProblem } from '../domain/wallet-address.js'
import type { Database } from '../modules/database.js'
import { findHolding } from '../modules/wallet-addresses/index.js'

/** Maximum number of values of a person's claim. */
const CLAIM_VALUES_MAX = 1_000

/** A person who asks for what they hold, as the call names them. */
export interface Person extends Holder {
  /** Values of the claim in their ID token. */
  readonly holderClaimValues: readonly string[]
}

/** What finding out whether a person holds something needs. */
export interface HoldingDependencies {
  readonly database: Database
  readonly urls: ResourceUrls
  /** Undefined when only operators say who holds an account. */
  readonly holderClaim: HolderClaim | undefined
}

/** @throws CallRefused `invalid` for what is no person */
function assertHolder(person: Holder): void {
  const wrong = findHolderProblem(person)
  if (wrong !== undefined) throw invalidCallField(wrong.member, wrong.problem)
}

/**
 * Reads who asks. What no account is called is left out of the values of the claim.
 *
 * @throws CallRefused `invalid`
 */
export function readPerson({ issuer, sub, holderClaimValues }: Person): Claimant {
  const person = { issuer, sub }
  assertHolder(person)
  if (holderClaimValues.length > CLAIM_VALUES_MAX)
    throw invalidCallField('holder_claim_values', `must be at most ${String(CLAIM_VALUES_MAX)}`)
  return { ...person, claimValues: holderClaimValues.filter(isAccountName) }
}

/**
 * Finds a wallet address that a person holds.
 *
 * @param url of the wallet address
 * @throws CallRefused `not-found` for the wallet address, `not-possible` for a person who does not hold it
 */
export async function findHeld(
  url: string,
  person: Claimant,
  { database, urls, holderClaim }: HoldingDependencies
): Promise<AccountHolding & { readonly path: string; readonly title: 'operator' | 'claim' }> {
  const path = urls.walletAddressPathOf(url)
  const holding =
    path === undefined || findPathProblem(path) !== undefined ? undefined : await findHolding(database, path)
  if (path === undefined || holding === undefined)
    throw new CallRefused('not-found', 'there is no such wallet address here', { field: 'wallet_address' })
  const title = findTitle(person, holding, holderClaim)
  if (title === undefined)
    throw new CallRefused('not-possible', 'this person does not hold the wallet address', { field: 'sub' })
  return { ...holding, path, title }
}
