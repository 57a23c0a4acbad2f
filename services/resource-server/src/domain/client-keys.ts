import type { Ed25519Jwk } from '@open-payments-server/http-signatures'

/** What the holder of a wallet address signs requests with, as it is published: JWK Set (RFC 7517 §5). */
export interface PublishedKeys {
  /** The keys that are not revoked, oldest first. */
  readonly keys: readonly Ed25519Jwk[]
}

/**
 * Finds the keys of the wallet addresses hosted here. Remembers them for a moment: a change that was made through another
 * replica is seen that much later.
 */
export interface PublishedKeyDirectory {
  /** The keys of the wallet address of a path; undefined when there is no such wallet address. What is remembered is answered at once. */
  findKeys(path: string): PublishedKeys | Promise<PublishedKeys | undefined>
  /** Looks at the keys of a path anew from now on: they were changed. */
  forget(path: string): void
}
