import type { Holder } from '../../domain/allowed-grants.js'
import { type DocumentedProof, hashDocument } from '../../domain/consent-proof.js'
import { readClaims } from '../../modules/issuers/index.js'

/** Who must have proved something. */
interface Prover extends Holder {
  /** URL of the wallet address that they must have held. */
  readonly walletAddress: string | null
}

/**
 * Finds a proof of something else, of somebody else, or for another wallet address. Its signatures were verified when it was given: the
 * keys may be gone since.
 *
 * @returns what is wrong, to follow the name of what it proves; no person is named
 */
export function findWrongProof(proof: DocumentedProof, prover: Prover): string[] {
  const claims = readClaims(proof)
  if (claims === undefined) return ['an ID token or a statement of ownership that is none']
  const { person, nonce, owner, walletAddress } = claims
  const isOf = ({ issuer, sub }: Partial<Holder>) => issuer === prover.issuer && sub === prover.sub
  return [
    ...(nonce === hashDocument(proof.document).toString('base64url')
      ? []
      : ['an ID token of another document']),
    ...(isOf(person) ? [] : ['an ID token of another person']),
    ...(isOf(owner) ? [] : ['a statement of ownership of another person']),
    ...(walletAddress === prover.walletAddress
      ? []
      : [`a statement of ownership of ${walletAddress ?? 'nothing'}`])
  ]
}

/** Reads the members of a document; none of a text that has no members. */
export function readDocument(text: string): Readonly<Partial<Record<string, unknown>>> {
  try {
    return { ...(JSON.parse(text) as object | null) }
  } catch {
    return {}
  }
}
