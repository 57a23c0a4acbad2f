import type { Ed25519Jwk } from '@open-payments-server/http-signatures'

/** The published signing keys of a wallet address's holder: JWK Set (RFC 7517 §5). */
export interface PublishedKeys {
  /** The keys that are not revoked, oldest first. */
  readonly keys: readonly Ed25519Jwk[]
}

/**
 * Finds the keys of the wallet addresses hosted here, and caches them briefly: a change made through another replica is
 * seen that much later.
 */
export interface PublishedKeyDirectory {
  /**
   * The keys of the wallet address with a path; undefined when there is no such wallet address. Cached keys are returned
   * synchronously.
   */
  findKeys(path: string): PublishedKeys | Promise<PublishedKeys | undefined>
  /** Drops the cached keys of a path, because they were changed. */
  forget(path: string): void
}
