import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { SignJWT } from 'jose'
import type { Holder } from '../../domain/holder.js'
import type { SigningKey } from '../../domain/signing-keys.js'

/** The type of the statements (RFC 8725 §3.11): nothing else that is signed here can be taken for one. */
const OWNERSHIP_TYPE = 'ownership+jwt'

/** What is stated. */
export interface Ownership {
  readonly holder: Holder
  /** URL of the wallet address. */
  readonly walletAddress: string
  /** A claim that the person's ID token must have for it to be true; undefined when it is true without. */
  readonly claim: { readonly name: string; readonly value: string } | undefined
}

/** A statement. */
export interface SignedOwnership {
  /** A JWT in compact form. */
  readonly statement: string
  readonly expiresAtMs: number
}

/** Signs statements of who holds a wallet address. */
export type OwnershipSigner = (ownership: Ownership) => Promise<SignedOwnership>

/** What a signer needs. */
export interface OwnershipSignerOptions {
  readonly key: SigningKey
  /** `iss`: the public URL of this service. */
  readonly issuer: string
  /** `aud`: the grant endpoint of the auth server. */
  readonly audience: string
  readonly lifetimeSeconds: number
  readonly clock: Clock
  readonly random: Random
}

/** Creates a signer. */
export function createOwnershipSigner(options: OwnershipSignerOptions): OwnershipSigner {
  const { key, clock, random } = options
  return async ({ holder, walletAddress, claim }) => {
    const issuedAt = Math.floor(clock.now() / 1_000)
    const expiresAt = issuedAt + options.lifetimeSeconds
    const claims = {
      holder_issuer: holder.issuer,
      wallet_address: walletAddress,
      ...(claim === undefined ? {} : { holder_claim: claim })
    }
    const statement = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', kid: key.keyId, typ: OWNERSHIP_TYPE })
      .setIssuer(options.issuer)
      .setAudience(options.audience)
      .setSubject(holder.sub)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(newId(clock, random))
      .sign(key.privateKey)
    return { statement, expiresAtMs: expiresAt * 1_000 }
  }
}
