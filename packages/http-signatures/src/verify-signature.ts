import type { KeyObject } from 'node:crypto'
import { ED25519_LIBRARY } from './ed25519.js'
import type { ReceivedSignature } from './receive-signature.js'
import { SignatureError } from './signature-error.js'

/** A public key of a client, ready to verify with. */
export interface ClientKey {
  /** Its identifier, the `keyid` of signatures. */
  readonly kid: string
  /** The key itself: 32 bytes, base64url. */
  readonly x: string
  readonly publicKey: KeyObject
}

/**
 * Verifies a received signature with a client's key.
 *
 * @param key the client's key: its identifier, which must equal the signature's `keyid` (interface 5), and the
 *   imported public key. Keep the imported key: importing costs more than verifying
 * @throws SignatureError `key` for another or an unusable key, `mismatch` when the signature is not by this key
 */
export function verifySignature(
  received: ReceivedSignature,
  key: Pick<ClientKey, 'kid' | 'publicKey'>
): void {
  if (received.keyId !== key.kid) {
    throw new SignatureError('key', 'keyid is not the identifier of the key')
  }
  if (key.publicKey.type !== 'public' || key.publicKey.asymmetricKeyType !== 'ed25519') {
    throw new SignatureError('key', 'the key is not an Ed25519 public key')
  }
  if (!ED25519_LIBRARY.verify(Buffer.from(received.base, 'ascii'), received.signature, key.publicKey)) {
    throw new SignatureError('mismatch', 'the signature does not match the request')
  }
}
