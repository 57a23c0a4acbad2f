/** Something that stopped being active before it expired. */
export type RevocationEvent =
  /** One token was rotated or revoked; the hash is the SHA-256 of its value. */
  | { readonly kind: 'token'; readonly accessTokenHash: Uint8Array }
  /** All tokens of a grant stopped being active: it was cancelled or revoked. */
  | { readonly kind: 'grant'; readonly grantId: string }

/** Hears of revocations, those of every replica. */
export interface RevocationListener {
  onEvent(event: RevocationEvent): void
  /** Events may have been missed: whatever was kept on the strength of this subscription is void. */
  onLost(reason: unknown): void
}

/** Carries revocations between the replicas of this service. */
export interface RevocationBus {
  /**
   * Tells every subscriber. Call it after the revocation was committed.
   *
   * @throws when it cannot be told; the revocation itself stands, and may be told again
   */
  publish(event: RevocationEvent): Promise<void>
  /** Starts listening; once it resolves, no later event is missed without `onLost`. */
  subscribe(listener: RevocationListener): Promise<RevocationSubscription>
}

/** A listener that was added. */
export interface RevocationSubscription {
  close(): Promise<void>
}
