/** Something that stopped being active before it expired, or changed what is known of tokens. */
export type RevocationEvent =
  /** One token was rotated or revoked; the hash is the SHA-256 of its value. */
  | { readonly kind: 'token'; readonly accessTokenHash: Uint8Array }
  /** All tokens of a grant stopped being active: it was cancelled or revoked. */
  | { readonly kind: 'grant'; readonly grantId: string }
  /** A client was frozen, or its freeze ended; see `nameClient`. */
  | { readonly kind: 'client'; readonly client: string }
  /** An account holder paused, resumed or lowered a grant. */
  | { readonly kind: 'changed-grant'; readonly grantId: string }

/** Receives the revocations of every replica. Called one at a time; must not throw. */
export interface RevocationListener {
  onEvent(event: RevocationEvent): void
  /** Events may be missed from now on: everything cached because of this subscription is void. */
  onInterrupted(): void
  /** After an interruption: later events arrive again. Those in between are lost. */
  onResumed(): void
}

/** Carries revocations between the replicas of this service. */
export interface RevocationBus {
  /**
   * Publishes to every subscriber. To be called after the revocation was committed.
   *
   * @throws Error when it may not have been published; the revocation itself stands, and may be published again
   */
  publish(event: RevocationEvent): Promise<void>
  /**
   * Starts listening: every event published after this resolves arrives, or `onInterrupted` is called.
   *
   * @throws Error when it cannot listen
   */
  subscribe(listener: RevocationListener): Promise<RevocationSubscription>
}

/** A listener that was added. */
export interface RevocationSubscription {
  /** Whether every event currently arrives. */
  readonly live: boolean
  /** No events arrive afterwards. */
  close(): Promise<void>
}
