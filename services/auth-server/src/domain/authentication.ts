import type { HttpRequestParts, ReceivedSignature } from '@open-payments-server/http-signatures'
import type { AccessItem } from './access.js'
import type { BoundClient, ClientKey } from './clients.js'
import type { ContinuedGrant } from './continuation.js'
import type { GrantState } from './grants.js'

/** Checks who signed a request (RFC 9635 §7.3.1). */
export interface ClientAuthenticator {
  /**
   * Reads a request's signature and checks all that needs no key. It is *not* verified yet.
   *
   * @throws PublicError 401 `invalid_client`
   */
  receive(request: HttpRequestParts): ReceivedSignature
  /**
   * Verifies a signature with a key, and that its nonce was not used before.
   *
   * @throws PublicError 401 `invalid_client`
   */
  verify(signature: ReceivedSignature, key: ClientKey): Promise<void>
  /**
   * Verifies that the holder of a grant signed: with the key the grant is bound to, or with another key that its wallet
   * address publishes now, so that clients can change their keys.
   *
   * @throws PublicError 401 `invalid_client`; 400 `invalid_client` when the client's keys cannot be fetched
   */
  verifyHolder(signature: ReceivedSignature, holder: BoundClient): Promise<void>
  /**
   * Makes a key ready to verify with; keeps it, since importing costs more than verifying.
   *
   * @throws SignatureError `key` when it is no Ed25519 public key
   */
  importKey(key: { readonly kid: string; readonly x: string }): ClientKey
}

/** A token as whoever manages it finds it. */
export interface ManagedToken {
  /** Its management id (UUID). */
  readonly id: string
  /** SHA-256 of its value. */
  readonly valueHash: Buffer
  /** Whether it was rotated or revoked. Expiry does not count: an expired token can be rotated. */
  readonly isEnded: boolean
  readonly grantId: string
  readonly grantState: GrantState
  readonly access: readonly AccessItem[]
}

/** Checks who continues a grant or manages a token: the token that is presented, then the signature. */
export interface HolderAuthorizer {
  /**
   * Finds the grant a client continues or cancels (RFC 9635 §5).
   *
   * @throws PublicError 401 `invalid_continuation` for an unknown grant or a wrong token, 401 `invalid_client` for a
   *   signature that is not the holder's
   */
  authorizeContinuation(continuationId: string, request: HttpRequestParts): Promise<ContinuedGrant>
  /**
   * Finds the token a client rotates or revokes (RFC 9635 §6).
   *
   * @throws PublicError 401 `invalid_client` for an unknown or wrong token, or a signature that is not the holder's
   */
  authorizeManagement(tokenId: string, request: HttpRequestParts): Promise<ManagedToken>
}
