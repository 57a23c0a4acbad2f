import type { ClientKey, HttpRequestParts, ReceivedSignature } from '@open-payments-server/http-signatures'
import type { ImportKey } from '@open-payments-server/service-kit/signatures'
import type { BoundClient } from '../domain/clients.js'
import type { ContinuedGrant } from '../domain/continuation.js'
import type { ManagedToken } from '../domain/token-record.js'

/**
 * Counts a request whose signature was verified. Forged requests, and those beyond a limit, store nothing.
 *
 * @param client the signer: a key for a grant request, the token holder after that
 * @throws Refusal `too-many-requests` when the client is over its limit
 */
export type CountVerified = (signature: ReceivedSignature, client: string) => void

/** Verifies who signed a request (RFC 9635 §7.3.1). */
export interface ClientAuthenticator {
  /**
   * Reads a request's signature and checks everything that needs no key. It is *not* verified yet.
   *
   * @throws Refusal `invalid-signature`
   */
  receive(request: HttpRequestParts): ReceivedSignature
  /**
   * Verifies a signature with a key, and that its nonce was not used before.
   *
   * @throws Refusal `invalid-signature`; SharedStoreUnavailable when it is unknown whether the nonce was used
   */
  verify(signature: ReceivedSignature, key: ClientKey): Promise<void>
  /**
   * Whether the token holder signed: with a key that its wallet address publishes now, or with the one key of a client that
   * is identified only by it.
   *
   * @param holder undefined when there is none; then the same work is done as for another's signature
   * @throws Refusal `invalid-signature` for a nonce that was used before; `unresolved-client` when the client's keys cannot
   *   be fetched
   */
  verifyHolder(signature: ReceivedSignature, holder: BoundClient | undefined): Promise<boolean>
  /**
   * Imports a key for verifying and caches it, because importing costs more than verifying.
   *
   * @throws SignatureError `key` when it is not an Ed25519 public key
   */
  readonly importKey: ImportKey
}

/**
 * Authorizes continuations and token management. Errors in the signature itself are reported as they are, as
 * `invalid-signature`; all others get one refusal.
 */
export interface HolderAuthorizer {
  /**
   * Finds the grant a client continues or cancels (RFC 9635 §5).
   *
   * @throws Refusal `unknown-continuation` for an unknown grant, a wrong token or another's key
   */
  authorizeContinuation(continuationId: string, request: HttpRequestParts): Promise<ContinuedGrant>
  /**
   * Finds the token a client rotates or revokes (RFC 9635 §6). It may have ended and, because token holders are cached, it
   * may be gone: the statement that changes it checks.
   *
   * @throws Refusal `unknown-token` for an unknown or wrong token, or another's key
   */
  authorizeManagement(tokenId: string, request: HttpRequestParts): Promise<ManagedToken>
}
