import { CallRefused } from '../../domain/call-refused.js'
import type { Holder } from '../../domain/holder.js'
import { assertHolder, findHeld, type HoldingDependencies } from '../holding.js'
import type { OwnershipSigner, SignedOwnership } from './ownership-signer.js'

/** What stating ownership needs. */
export interface OwnershipDependencies extends HoldingDependencies {
  /** Undefined when nothing can be stated. */
  readonly ownershipSigner: OwnershipSigner | undefined
}

/**
 * States to the auth server that a person holds a wallet address.
 *
 * @throws CallRefused `invalid`, `not-found` for the wallet address, `not-possible` for a person who does not hold it, or when
 *   nothing can be stated
 */
export async function stateOwnership(
  { walletAddress: url, ...holder }: Holder & { readonly walletAddress: string },
  dependencies: OwnershipDependencies
): Promise<SignedOwnership> {
  assertHolder(holder)
  const { ownershipSigner: sign, urls, holderClaim } = dependencies
  if (sign === undefined)
    throw new CallRefused('not-possible', 'no statement can be signed: OWNERSHIP_KEYS is not set')
  // The auth server looks for the claim in the ID token.
  const { path, accountName, title } = await findHeld(
    url,
    { ...holder, claimValues: undefined },
    dependencies
  )
  const claim =
    title === 'claim' && holderClaim !== undefined
      ? { name: holderClaim.name, value: accountName }
      : undefined
  return sign({ holder, walletAddress: urls.ofWalletAddress(path), claim })
}
