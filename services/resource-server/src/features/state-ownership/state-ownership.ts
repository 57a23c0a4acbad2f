import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { findHolderProblem, type Holder } from '../../domain/holder.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { findPathProblem } from '../../domain/wallet-address.js'
import type { Database } from '../../modules/database.js'
import { findHolding, type Holding } from '../../modules/wallet-addresses/index.js'
import type { OwnershipSigner, SignedOwnership } from './ownership-signer.js'

/** Who holds the accounts for which no operator said so. */
export interface HolderClaim {
  /** Issuer of the ID tokens. */
  readonly issuer: string
  /** Claim in them that has the names of accounts. */
  readonly name: string
}

/** What stating ownership needs. */
export interface OwnershipDependencies {
  readonly database: Database
  readonly urls: ResourceUrls
  /** Undefined when nothing can be stated. */
  readonly ownershipSigner: OwnershipSigner | undefined
  /** Undefined when only operators say who holds an account. */
  readonly holderClaim: HolderClaim | undefined
}

/**
 * States to the auth server that a person holds a wallet address.
 *
 * @throws CallRefused `invalid`, `not-found` for the wallet address, `not-possible` for a person who does not hold it, or when
 *   nothing can be stated
 */
export async function stateOwnership(
  { walletAddress, ...holder }: Holder & { readonly walletAddress: string },
  dependencies: OwnershipDependencies
): Promise<SignedOwnership> {
  const wrong = findHolderProblem(holder)
  if (wrong !== undefined) throw invalidCallField(wrong.member, wrong.problem)
  const { ownershipSigner: sign, urls } = dependencies
  if (sign === undefined)
    throw new CallRefused('not-possible', 'no statement can be signed: OWNERSHIP_KEYS is not set')
  const path = urls.walletAddressPathOf(walletAddress)
  const holding =
    path === undefined || findPathProblem(path) !== undefined
      ? undefined
      : await findHolding(dependencies.database, path)
  if (path === undefined || holding === undefined)
    throw new CallRefused('not-found', 'there is no such wallet address here', { field: 'wallet_address' })
  const claim = claimOf(holder, holding, dependencies.holderClaim)
  return sign({ holder, walletAddress: urls.ofWalletAddress(path), claim })
}

/**
 * What must be true of a person's ID token, too, for them to be the holder.
 *
 * @throws CallRefused `not-possible` for a person who is not
 */
function claimOf(
  { issuer, sub }: Holder,
  { holder, accountName }: Holding,
  holderClaim: HolderClaim | undefined
): { readonly name: string; readonly value: string } | undefined {
  if (holder === undefined && holderClaim?.issuer === issuer)
    return { name: holderClaim.name, value: accountName }
  if (holder?.issuer === issuer && holder.sub === sub) return undefined
  throw new CallRefused('not-possible', 'this person does not hold the wallet address', { field: 'sub' })
}
