import { hashSecret } from '@open-payments-server/value-types/identifiers'
import type { AuthorizedRequest } from '../../domain/authorization.js'
import type { RevocationListener, TokenStatus } from '../../domain/ports.js'

/** Maximum number of tokens that are asked for at a time when the stream of revocations is back. */
const ASKED_AT_ONCE_MAX = 8

/**
 * The status of a token now, as requests see it.
 *
 * @returns a cached answer, synchronously, which nothing has revoked until now; or what the auth server will answer
 */
export type FindToken = (
  accessToken: string,
  keyId: string | undefined
) => Pick<TokenStatus, 'status'> | Promise<Pick<TokenStatus, 'status'>>

/** A token that is watched for a client that waits. */
export interface WatchedToken {
  /**
   * Whether it may be used now: known at once, unless its revocation may have been missed.
   *
   * @throws AuthServerUnavailable, asynchronously
   */
  isActive(): boolean | Promise<boolean>
  /** Watches it no longer. */
  close(): void
}

/** A token and everyone who waits with it. */
interface Watched {
  readonly accessToken: string
  readonly keyId: string
  readonly hash: string
  readonly grantId: string
  readonly onEnded: Set<() => void>
  /** Whether a revocation may have been missed. */
  isDoubtful: boolean
  asking: Promise<boolean> | undefined
}

/**
 * Tells who waits that their token was rotated or revoked. While the stream of revocations is down, tokens are doubtful: the auth
 * server is asked before anything is told with one, and about all of them when the stream is back. Their expiry is up to who waits.
 */
export class WatchedTokens implements RevocationListener {
  readonly #find: FindToken
  readonly #byHash = new Map<string, Watched>()
  readonly #byGrant = new Map<string, Set<Watched>>()
  #isLive = false
  /** Counts beginnings and ends of the stream: an answer is certain only within one. */
  #epoch = 0

  constructor(find: FindToken) {
    this.#find = find
  }

  /**
   * Watches the token of a request.
   *
   * @param onEnded called once when it may no longer be used
   */
  watch(
    { accessToken, keyId, grantId }: Pick<AuthorizedRequest, 'accessToken' | 'keyId' | 'grantId'>,
    onEnded: () => void
  ): WatchedToken {
    const hash = hashSecret(accessToken).toString('base64url')
    const watched = this.#byHash.get(hash) ?? this.#add({ accessToken, keyId, hash, grantId })
    watched.onEnded.add(onEnded)
    return {
      isActive: () => {
        if (this.#byHash.get(hash) !== watched) return false
        return watched.isDoubtful ? this.#ask(watched) : true
      },
      close: () => {
        watched.onEnded.delete(onEnded)
        if (watched.onEnded.size === 0) this.#remove(watched)
      }
    }
  }

  onStarted(): void {
    this.#epoch += 1
    this.#isLive = true
    void this.#askAll()
  }

  onTokenRevoked(accessTokenHash: Buffer): void {
    const watched = this.#byHash.get(accessTokenHash.toString('base64url'))
    if (watched !== undefined) this.#end(watched)
  }

  onGrantRevoked(grantId: string): void {
    for (const watched of this.#byGrant.get(grantId) ?? []) this.#end(watched)
  }

  onClientFreezeChanged(): void {
    // A frozen client may still read, which is all that whoever waits does.
  }

  onGrantChanged(): void {
    // Under a paused or lowered grant one may still read.
  }

  onEnded(): void {
    this.#epoch += 1
    this.#isLive = false
    for (const watched of this.#byHash.values()) watched.isDoubtful = true
  }

  #add(token: Pick<Watched, 'accessToken' | 'keyId' | 'hash' | 'grantId'>): Watched {
    // It may have been revoked since its request was authorized.
    const watched: Watched = { ...token, onEnded: new Set(), isDoubtful: true, asking: undefined }
    this.#byHash.set(token.hash, watched)
    const ofGrant = this.#byGrant.get(token.grantId) ?? new Set()
    this.#byGrant.set(token.grantId, ofGrant.add(watched))
    return watched
  }

  #remove(watched: Watched): void {
    if (this.#byHash.get(watched.hash) !== watched) return
    this.#byHash.delete(watched.hash)
    const ofGrant = this.#byGrant.get(watched.grantId)
    ofGrant?.delete(watched)
    if (ofGrant?.size === 0) this.#byGrant.delete(watched.grantId)
  }

  #end(watched: Watched): void {
    this.#remove(watched)
    for (const onEnded of watched.onEnded) onEnded()
  }

  #ask(watched: Watched): boolean | Promise<boolean> {
    const epoch = this.#epoch
    const decide = ({ status }: Pick<TokenStatus, 'status'>): boolean => {
      if (status !== 'active') this.#end(watched)
      else if (this.#isLive && epoch === this.#epoch) watched.isDoubtful = false
      return status === 'active' && this.#byHash.get(watched.hash) === watched
    }
    if (watched.asking !== undefined) return watched.asking
    const found = this.#find(watched.accessToken, watched.keyId)
    if (!(found instanceof Promise)) return decide(found)
    watched.asking = found.then(decide).finally(() => {
      watched.asking = undefined
    })
    return watched.asking
  }

  /** Asks for every doubtful token. Those that cannot be asked for stay doubtful. */
  async #askAll(): Promise<void> {
    const doubtful = [...this.#byHash.values()].filter(({ isDoubtful }) => isDoubtful).values()
    const askSome = async (): Promise<void> => {
      for (const watched of doubtful) await Promise.resolve(this.#ask(watched)).catch(() => undefined) // it stays doubtful
    }
    await Promise.all(Array.from({ length: ASKED_AT_ONCE_MAX }, askSome))
  }
}
