import { findTokenProblem } from '@open-payments-server/service-kit/issuers'
import { decodeJwt } from 'jose'
import type { Holder } from '../../domain/allowed-grants.js'
import type { ConsentProof } from '../../domain/consent-proof.js'

/** What a proof claims, whoever signed it; undefined what it does not say as text. */
export interface ClaimedProof {
  /** The person of the ID token. */
  readonly person: Partial<Holder>
  /** Nonce of the ID token. */
  readonly nonce: string | undefined
  /** Whom the statement of ownership names. */
  readonly owner: Partial<Holder>
  /** URL of the wallet address that they hold. */
  readonly walletAddress: string | undefined
}

/**
 * Reads what a proof claims. Verifies no signature: it is for proofs that were verified when they were given, and by keys that may be
 * gone since.
 *
 * @returns undefined when its members are no JWTs
 */
export function readClaims({ idToken, ownership }: ConsentProof): ClaimedProof | undefined {
  try {
    const [token, statement] = [decodeJwt(idToken), decodeJwt(ownership)]
    return {
      person: { issuer: textOf(token.iss), sub: textOf(token.sub) },
      nonce: textOf(token.nonce),
      owner: { issuer: textOf(statement.holder_issuer), sub: textOf(statement.sub) },
      walletAddress: textOf(statement.wallet_address)
    }
  } catch (error) {
    if (findTokenProblem(error) === undefined) throw error
    return undefined
  }
}

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim : undefined
}
