import type { HttpRequestParts, ReceivedSignature } from '@open-payments-server/http-signatures'
import type { BoundClient, ClientKey } from './clients.js'

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
