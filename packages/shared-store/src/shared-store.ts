/**
 * Data that the replicas of a service share and may lose: single-use marks and messages. Losing all of it loses no money
 * and no grant.
 */
export interface SharedStore {
  /**
   * Marks a key as used.
   *
   * @param key at most {@link keyLengthMax} characters
   * @param lifetimeSeconds how long the mark stays, greater than zero
   * @param createdSeconds when the thing that the key stands for was created, in whole seconds since 1970. If the store has
   *   lost its marks since then, it cannot tell whether this is the first use, and returns false. Not checked unless given
   * @returns true for the first caller within the lifetime, false for everyone after
   * @throws SharedStoreUnavailable when it cannot tell; the key may then be marked or not
   * @throws RangeError for a key that is too long or a lifetime that is not positive
   */
  markOnce(key: string, lifetimeSeconds: number, createdSeconds?: number): Promise<boolean>

  /**
   * Whether a key was marked, within the lifetime of its mark.
   *
   * @param key at most {@link keyLengthMax} characters
   * @param createdSeconds when the thing that the key stands for was created, in whole seconds since 1970. If the store has
   *   lost its marks since then, it cannot tell that this was never marked, and returns true
   * @throws SharedStoreUnavailable when it cannot tell
   * @throws RangeError for a key that is too long
   */
  wasMarked(key: string, createdSeconds: number): Promise<boolean>

  /**
   * Sends a message to the current subscribers of a channel.
   *
   * @param patienceMs how long to try again where another server may take the place of a lost one; then the message may arrive
   *   twice. Default 0: not at all
   * @throws SharedStoreUnavailable when it may not have been sent
   */
  publish(channel: string, message: Uint8Array, patienceMs?: number): Promise<void>

  /**
   * Receives the messages of a channel, in the order in which they were sent, from before this resolves until closed.
   *
   * @throws SharedStoreUnavailable when the subscription cannot be made; no handler is called afterwards
   */
  subscribe(channel: string, handlers: SubscriptionHandlers): Promise<Subscription>

  /**
   * For readiness.
   *
   * @throws SharedStoreUnavailable when the store does not answer
   */
  check(): Promise<void>

  /** Ends every subscription and connection. Everything afterwards throws SharedStoreUnavailable. May be repeated. */
  close(): Promise<void>
}

/** Callbacks of a subscriber. Called one at a time; they must not throw. */
export interface SubscriptionHandlers {
  readonly onMessage: (message: Uint8Array) => void
  /** From now on messages may be missed, and some may have been missed already. */
  readonly onInterrupted: () => void
  /** After an interruption: from now on every message arrives again. Those in between are lost. */
  readonly onResumed: () => void
}

export interface Subscription {
  /** Whether every message currently arrives: false between onInterrupted and onResumed, and once closed. */
  readonly live: boolean
  /** No handler is called afterwards. May be called again. */
  close(): Promise<void>
}

/** The store did not answer, so the result is unknown. */
export class SharedStoreUnavailable extends Error {
  override readonly name = 'SharedStoreUnavailable'
}

export const keyLengthMax = 1_024

/** Refuses what no implementation accepts. */
export function assertMarkable(key: string, lifetimeSeconds: number): void {
  assertKey(key)
  if (!(lifetimeSeconds > 0 && Number.isFinite(lifetimeSeconds))) {
    throw new RangeError('a lifetime is a number of seconds greater than zero')
  }
}

/** Refuses keys that no implementation accepts. */
export function assertKey(key: string): void {
  if (key.length > keyLengthMax) throw new RangeError(`a key is at most ${String(keyLengthMax)} characters`)
}

/**
 * Whether the store has kept all marks since something was created.
 *
 * @param createdSeconds when it was created, in whole seconds: it may have been at their end
 * @param epochMs the time since which no mark was lost
 */
export function isRemembered(createdSeconds: number | undefined, epochMs: number): boolean {
  return createdSeconds === undefined || createdSeconds * 1_000 + 999 >= epochMs
}
