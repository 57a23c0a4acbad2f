import { createHash } from 'node:crypto'

/** Maximum length of an ID token, in characters. */
export const ID_TOKEN_LENGTH_MAX = 16_384
/** Maximum length of a statement of ownership, in characters: several times the length of those that are signed. */
export const OWNERSHIP_LENGTH_MAX = 8_192

/** What proves that an account holder wants something, as the identity provider sends it. */
export interface ConsentProof {
  /** ID token of an issuer (OpenID Connect Core §2), in compact form. */
  readonly idToken: string
  /** The resource server's statement that this person holds the wallet address, in compact form. */
  readonly ownership: string
}

/** A proof, with what it is about. */
export interface DocumentedProof extends ConsentProof {
  /** Canonical JSON (RFC 8785). The base64url of its SHA-256 is the nonce of the ID token. */
  readonly document: string
}

/** An ID token that was verified. */
export interface VerifiedIdToken {
  readonly issuer: string
  readonly sub: string
  /** Authentication context class; undefined when the issuer does not say. */
  readonly acr: string | undefined
  /** Authentication methods; empty when the issuer does not say. */
  readonly amr: readonly string[]
  /** When the person signed in; undefined when the issuer does not say. */
  readonly authTimeMs: number | undefined
  /** All claims. */
  readonly claims: Readonly<Record<string, unknown>>
}

/** Verifies ID tokens of the issuers that account holders sign in at. */
export interface IdTokenVerifier {
  /**
   * Verifies an ID token: its issuer and that issuer's signature, whom it is for, that it is fresh, and what was authenticated.
   *
   * @param nonce the nonce that it must have
   * @throws Refusal `invalid-field` `idToken`, or `issuer-unavailable`
   */
  verify(idToken: string, nonce: string): Promise<VerifiedIdToken>
}

/** Verifies statements of the resource server of who holds a wallet address. */
export interface OwnershipVerifier {
  /**
   * Verifies that the person of an ID token holds a wallet address.
   *
   * @throws Refusal `invalid-field` `ownership`
   */
  verify(ownership: string, holder: VerifiedIdToken, walletAddress: string): Promise<void>
}

/** A consent record: what an account holder consented to, and the proof of it. Never changed. */
export interface ConsentRecord {
  /** The consent document: canonical JSON (RFC 8785). */
  readonly document: string
  /** SHA-256 of it. */
  readonly documentHash: Buffer
  readonly issuer: string
  readonly sub: string
  readonly acr: string | undefined
  readonly amr: readonly string[]
  readonly authTimeMs: number | undefined
  /** The issuer's signature: the ID token whose nonce is the hash of the document. */
  readonly idToken: string
  /** The resource server's statement. */
  readonly ownership: string
}

/** The SHA-256 of a consent document. Its base64url is the nonce of the ID token. */
export function hashDocument(document: string): Buffer {
  return createHash('sha256').update(document, 'utf8').digest()
}
