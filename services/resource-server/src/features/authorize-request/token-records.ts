import type { KeyObject } from 'node:crypto'
import { importEd25519Jwk } from '@open-payments-server/http-signatures'
import { type Clock, hashSecret } from '@open-payments-server/runtime'
import { LRUCache } from 'lru-cache'
import type { TokenLookupCounter } from '../../domain/counters.js'
import type { ActiveToken, Introspection, RevocationListener, TokenStatus } from '../../domain/ports.js'

/** Most tokens whose answers are kept. */
const TOKENS_KEPT_MAX = 10_000

/** Most imported keys that are kept: a client has one for all its tokens. */
const KEYS_KEPT_MAX = 10_000

/** Most key ids of one token whose answers are kept: a client may change keys, and no client needs many. */
const KEY_IDS_KEPT_MAX = 4

/** How old a kept answer must be to be asked for again because a signature does not fit it. */
const ASK_AGAIN_SECONDS = 5

/** A key ready to verify with: importing one costs more than verifying. */
export interface ReadyKey {
  readonly kid: string
  /** The same in base64url (RFC 8037). */
  readonly x: string
  readonly publicKey: KeyObject
}

/** A token that may be used. */
export interface ActiveRecord extends Omit<ActiveToken, 'key'> {
  readonly key: ReadyKey | 'unavailable' | undefined
}

/** What is known of a token. */
export type TokenRecord = Exclude<TokenStatus, ActiveToken> | ActiveRecord

/** An answer, and when it may be used: neither after its time nor, by a clock that was set back, before it. */
interface KeptAnswer {
  readonly record: ActiveRecord
  readonly keptFromMs: number
  readonly keptUntilMs: number
}

/** Answers of one token, by key id. */
interface KeptToken {
  readonly grantId: string
  readonly answers: Map<string, KeptAnswer>
}

/** A question that was asked and not answered yet. */
interface Pending {
  readonly tokenHash: string
  /** Whether its answer may already be out of date when it comes. */
  void: boolean
  /** Grants that were revoked since it was asked. */
  readonly revokedGrants: Set<string>
}

/** What {@link TokenRecords} needs. */
export interface TokenRecordsOptions {
  readonly introspection: Introspection
  readonly clock: Clock
  /** How long an active answer may be kept, in seconds; 0 asks every time. */
  readonly cacheSeconds: number
  readonly countLookup: TokenLookupCounter
}

/**
 * Knows what tokens are worth. Asks the auth server, and keeps the answers about active tokens for a short time, but only
 * while the stream of revocations is live: a revoked token is refused as soon as the stream says so, and when the stream
 * is down every request asks. Money is never moved on a kept answer: reserving checks again.
 */
export class TokenRecords implements RevocationListener {
  readonly #options: TokenRecordsOptions
  readonly #pending = new Set<Pending>()
  /** By the token's hash, so that no token stays in memory. */
  readonly #tokens: LRUCache<string, KeptToken>
  readonly #tokensOfGrants = new Map<string, Set<string>>()
  readonly #keys = new LRUCache<string, KeyObject>({ max: KEYS_KEPT_MAX })
  #live = false

  constructor(options: TokenRecordsOptions) {
    this.#options = options
    this.#tokens = new LRUCache({
      max: TOKENS_KEPT_MAX,
      dispose: (kept, tokenHash) => {
        this.#forgetGrantOf(kept, tokenHash)
      }
    })
  }

  /**
   * What a token is worth now.
   *
   * @param keyId `keyid` of the signature that came with it
   * @returns what was kept, at once; or what the auth server will answer
   * @throws AuthServerUnavailable, later
   * @throws SignatureError later, when the auth server tells of a key that cannot be used
   */
  find(accessToken: string, keyId: string | undefined): ActiveRecord | Promise<TokenRecord> {
    const tokenHash = hashToken(accessToken)
    const kept = this.#kept(tokenHash, keyId ?? '')
    this.#options.countLookup(kept === undefined ? this.#asking() : 'hit')
    return kept ?? this.#ask(accessToken, tokenHash, keyId)
  }

  /**
   * What a token is worth now, when a signature does not fit what was kept: the client may have put another key in the place
   * of the one with this id.
   *
   * @returns undefined when nothing newer is to be had: the answer was not a kept one, or was asked for a moment ago
   * @throws as {@link TokenRecords.find}
   */
  async findNewer(accessToken: string, keyId: string): Promise<TokenRecord | undefined> {
    const answers = this.#tokens.peek(hashToken(accessToken))?.answers
    const kept = answers?.get(keyId)
    const nowMs = this.#options.clock.now()
    if (kept === undefined || nowMs < kept.keptFromMs + ASK_AGAIN_SECONDS * 1_000) return undefined
    answers?.delete(keyId)
    return this.find(accessToken, keyId)
  }

  onStarted(): void {
    this.#tokens.clear()
    this.#live = true
  }

  onTokenRevoked(accessTokenHash: Buffer): void {
    const tokenHash = accessTokenHash.toString('base64url')
    this.#tokens.delete(tokenHash)
    for (const pending of this.#pending) if (pending.tokenHash === tokenHash) pending.void = true
  }

  onGrantRevoked(grantId: string): void {
    for (const tokenHash of [...(this.#tokensOfGrants.get(grantId) ?? [])]) this.#tokens.delete(tokenHash)
    for (const pending of this.#pending) pending.revokedGrants.add(grantId)
  }

  onEnded(): void {
    this.#live = false
    this.#tokens.clear()
    for (const pending of this.#pending) pending.void = true
  }

  async #ask(accessToken: string, tokenHash: string, keyId: string | undefined): Promise<TokenRecord> {
    const pending: Pending = { tokenHash, void: !this.#live, revokedGrants: new Set() }
    this.#pending.add(pending)
    try {
      const record = await this.#toRecord(await this.#options.introspection.introspect(accessToken, keyId))
      if (record.status === 'active') this.#keep(pending, keyId ?? '', record)
      return record
    } finally {
      this.#pending.delete(pending)
    }
  }

  /** Why the auth server is asked. */
  #asking(): 'miss' | 'bypassed' {
    return this.#live && this.#options.cacheSeconds > 0 ? 'miss' : 'bypassed'
  }

  #kept(tokenHash: string, keyId: string): ActiveRecord | undefined {
    const answer = this.#tokens.get(tokenHash)?.answers.get(keyId)
    if (answer === undefined) return undefined
    const nowMs = this.#options.clock.now()
    return answer.keptFromMs <= nowMs && nowMs < answer.keptUntilMs ? answer.record : undefined
  }

  #keep(pending: Pending, keyId: string, record: ActiveRecord): void {
    // Without a key there is nothing worth keeping: the client may publish one at any moment.
    if (typeof record.key !== 'object') return
    if (pending.void || pending.revokedGrants.has(record.grantId)) return
    const nowMs = this.#options.clock.now()
    const keptUntilMs = Math.min(nowMs + this.#options.cacheSeconds * 1_000, record.expiresAtMs)
    if (keptUntilMs <= nowMs) return
    const { tokenHash } = pending
    const kept: KeptToken = this.#tokens.get(tokenHash) ?? { grantId: record.grantId, answers: new Map() }
    if (kept.answers.size >= KEY_IDS_KEPT_MAX && !kept.answers.has(keyId)) kept.answers.clear()
    kept.answers.set(keyId, { record, keptFromMs: nowMs, keptUntilMs })
    if (this.#tokens.peek(tokenHash) === undefined) {
      this.#tokens.set(tokenHash, kept)
      const tokens = this.#tokensOfGrants.get(kept.grantId) ?? new Set()
      this.#tokensOfGrants.set(kept.grantId, tokens.add(tokenHash))
    }
  }

  async #toRecord(answer: TokenStatus): Promise<TokenRecord> {
    if (answer.status !== 'active') return answer
    const { key } = answer
    return { ...answer, key: typeof key === 'object' ? await this.#toReadyKey(key) : key }
  }

  async #toReadyKey({ kid, x }: { readonly kid: string; readonly x: string }): Promise<ReadyKey> {
    const known = this.#keys.get(x)
    const publicKey = known ?? (await importEd25519Jwk({ x }))
    if (known === undefined) this.#keys.set(x, publicKey)
    return { kid, x, publicKey }
  }

  #forgetGrantOf(kept: KeptToken, tokenHash: string): void {
    const tokens = this.#tokensOfGrants.get(kept.grantId)
    tokens?.delete(tokenHash)
    if (tokens?.size === 0) this.#tokensOfGrants.delete(kept.grantId)
  }
}

/** As the stream of revocations names tokens. */
function hashToken(accessToken: string): string {
  return hashSecret(accessToken).toString('base64url')
}
