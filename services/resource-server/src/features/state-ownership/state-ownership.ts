import { CallRefused } from '../../domain/call-refused.js'
import { findHeld, type HoldingDependencies, type Person, readPerson } from '../holding.js'
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
  { walletAddress: url, ...asked }: Person & { readonly walletAddress: string },
  dependencies: OwnershipDependencies
): Promise<SignedOwnership> {
  const person = readPerson(asked)
  const { ownershipSigner: sign, urls, holderClaim } = dependencies
  if (sign === undefined)
    throw new CallRefused('not-possible', 'no statement can be signed: OWNERSHIP_KEYS is not set')
  const { path, accountName, title } = await findHeld(url, person, dependencies)
  // Whoever asks is believed about the claim only here: the auth server looks for it in the ID token.
  const claim =
    title === 'claim' && holderClaim !== undefined
      ? { name: holderClaim.name, value: accountName }
      : undefined
  const { issuer, sub } = person
  return sign({ holder: { issuer, sub }, walletAddress: urls.ofWalletAddress(path), claim })
}
