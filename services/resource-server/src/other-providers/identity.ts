import type { Ed25519Jwk } from '@open-payments-server/http-signatures'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import type { SigningKey } from '../domain/signing-keys.js'

/** A JWK Set of public keys (RFC 7517 §5), as clients publish it at `<wallet address>/jwks.json`. */
export interface PublishedKeys {
  readonly keys: readonly Ed25519Jwk[]
}

/** This provider as a client of other providers (RFC 9635 §2.3): a wallet address, and the keys that it publishes there. */
export interface ClientIdentity {
  /** URL of the wallet address. */
  readonly walletAddress: string
  /** The key that signs. */
  readonly signingKey: SigningKey
  /** The public keys, those that do not sign included. */
  readonly publishedKeys: PublishedKeys
}

/**
 * The identity of this provider.
 *
 * @param options.walletAddress URL of the wallet address
 * @param options.keys the first signs. The others are only published: the next one before it signs, and the last one while
 *   what it signed may still be verified
 * @throws Error when two keys have one id
 * @throws SignatureError `key` for a key that is not Ed25519, or an id of another length
 */
export function createClientIdentity({
  walletAddress,
  keys
}: {
  readonly walletAddress: string
  readonly keys: readonly [SigningKey, ...SigningKey[]]
}): ClientIdentity {
  const published = keys.map(({ keyId, privateKey }) => exportEd25519Jwk(privateKey, keyId))
  const ids = new Set(published.map(({ kid }) => kid))
  if (ids.size < published.length) throw new Error('two signing keys have the same id')
  return { walletAddress, signingKey: keys[0], publishedKeys: { keys: published } }
}
