/** Something that stopped being active before it expired. */
export type RevocationEvent =
  /** One token was rotated or revoked; the hash is the SHA-256 of its value. */
  | { readonly kind: 'token'; readonly accessTokenHash: Uint8Array }
  /** All tokens of a grant stopped being active: it was cancelled or revoked. */
  | { readonly kind: 'grant'; readonly grantId: string }

/** Hears of revocations, those of every replica. Called one at a time; must not throw. */
export interface RevocationListener {
  onEvent(event: RevocationEvent): void
  /** Events may be missed from now on: whatever was kept on the strength of this subscription is void. */
  onInterrupted(): void
  /** After an interruption: every later event arrives again. Those in between are lost. */
  onResumed(): void
}

/** Carries revocations between the replicas of this service. */
export interface RevocationBus {
  /**
   * Tells every subscriber. Call it after the revocation was committed.
   *
   * @throws Error when it may not have been told; the revocation itself stands, and may be told again
   */
  publish(event: RevocationEvent): Promise<void>
  /**
   * Starts listening: every event that is published after this resolves arrives, or `onInterrupted` is called.
   *
   * @throws Error when it cannot listen
   */
  subscribe(listener: RevocationListener): Promise<RevocationSubscription>
}

/** A listener that was added. */
export interface RevocationSubscription {
  /** Whether every event arrives at present. */
  readonly live: boolean
  /** Nothing is heard afterwards. */
  close(): Promise<void>
}
