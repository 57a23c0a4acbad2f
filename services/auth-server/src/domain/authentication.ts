import type { HttpRequestParts, ReceivedSignature } from '@open-payments-server/http-signatures'
import type { BoundClient, ClientKey } from './clients.js'
import type { ContinuedGrant } from './continuation.js'
import type { HeldToken } from './held-tokens.js'

/**
 * Counts a request whose signature was verified. Whoever only forged one, or asks too often, leaves nothing behind.
 *
 * @param client who signed: a key for a grant request, the client that holds the grant after that
 * @throws PublicError 429 when the client asks too often
 */
export type CountVerified = (signature: ReceivedSignature, client: string) => void

/** Checks who signed a request (RFC 9635 §7.3.1). */
export interface ClientAuthenticator {
  /**
   * Reads a request's signature and checks all that needs no key. It is *not* verified yet.
   *
   * @throws Refusal `invalid-signature`
   */
  receive(request: HttpRequestParts): ReceivedSignature
  /**
   * Verifies a signature with a key, and that its nonce was not used before.
   *
   * @throws Refusal `invalid-signature`; SharedStoreUnavailable when nobody can tell whether the nonce was used
   */
  verify(signature: ReceivedSignature, key: ClientKey): Promise<void>
  /**
   * Whether the holder of a grant signed: with a key that its wallet address publishes now, or with the one key of a client
   * that is known by its key alone.
   *
   * @param holder undefined when there is none; as much is done then as for another's signature
   * @throws Refusal `invalid-signature` for a nonce that was used before; `unresolved-client` when the client's keys
   *   cannot be fetched
   */
  verifyHolder(signature: ReceivedSignature, holder: BoundClient | undefined): Promise<boolean>
  /**
   * Makes a key ready to verify with; keeps it, since importing costs more than verifying.
   *
   * @throws SignatureError `key` when it is no Ed25519 public key
   */
  importKey(key: { readonly kid: string; readonly x: string }): Promise<ClientKey>
}

/**
 * Checks who continues a grant or manages a token. What is wrong with the signature by itself is told as it is, 401
 * `invalid_client`; for all the rest there is one refusal.
 */
export interface HolderAuthorizer {
  /**
   * Finds the grant a client continues or cancels (RFC 9635 §5).
   *
   * @throws Refusal `unknown-continuation` for an unknown grant, a wrong token or another's key
   */
  authorizeContinuation(continuationId: string, request: HttpRequestParts): Promise<ContinuedGrant>
  /**
   * Finds the token a client rotates or revokes (RFC 9635 §6). It may be over, and since it is remembered whose tokens are,
   * it may be gone: the statement that changes it looks.
   *
   * @throws Refusal `unknown-token` for an unknown or wrong token, or another's key
   */
  authorizeManagement(tokenId: string, request: HttpRequestParts): Promise<HeldToken>
}
