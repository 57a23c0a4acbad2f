import type { ClientKey } from '@open-payments-server/http-signatures'
import { createKeyImporter } from '@open-payments-server/service-kit/signatures'
import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { LRUCache } from 'lru-cache'
import type { TokenLookupCounter } from '../../domain/counters.js'
import type { ActiveToken, Introspection, RevocationListener, TokenStatus } from '../../domain/ports.js'

/** Maximum number of tokens whose answers are cached. */
const TOKENS_KEPT_MAX = 10_000

/** Maximum number of key ids per token whose answers are cached: a client may change keys, but needs few. */
const KEY_IDS_KEPT_MAX = 4

/** Minimum age of a cached answer for asking again when a signature does not match it. */
const ASK_AGAIN_SECONDS = 5

/** An active token. */
export interface ActiveRecord extends Omit<ActiveToken, 'key'> {
  readonly key: ClientKey | 'unavailable' | undefined
}

/** What is known of a token. */
export type TokenRecord = Exclude<TokenStatus, ActiveToken> | ActiveRecord

/** An answer, and when it may be used: neither after its time nor, if the clock was set back, before it. */
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

/** A pending request to the auth server. */
interface Pending {
  readonly tokenHash: string
  /** Whether its answer may already be outdated when it arrives. */
  void: boolean
  /** Grants that were revoked since the request was sent. */
  readonly revokedGrants: Set<string>
  /** Grants that were paused, resumed or lowered since. */
  readonly changedGrants: Set<string>
  /** Clients that were frozen or unfrozen since. */
  readonly changedClients: Set<string>
}

/** What {@link TokenRecords} needs. */
export interface TokenRecordsOptions {
  readonly introspection: Introspection
  readonly clock: Clock
  /** How long an active answer may be cached, in seconds; 0 disables the cache. */
  readonly cacheSeconds: number
  readonly countLookup: TokenLookupCounter
}

/**
 * Introspects tokens at the auth server, and caches the answers about active tokens briefly, but only while the revocation
 * stream is live. So a revoked token is refused as soon as the stream names it, and while the stream is down every request
 * asks. Money is never moved on a cached answer: reserving checks again.
 */
export class TokenRecords implements RevocationListener {
  readonly #options: TokenRecordsOptions
  readonly #pending = new Set<Pending>()
  /** By the token's hash, so that no token is kept in memory. */
  readonly #tokens: LRUCache<string, KeptToken>
  readonly #tokensOfGrants = new Map<string, Set<string>>()
  readonly #importKey = createKeyImporter()
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
   * The status of a token now.
   *
   * @param keyId `keyid` of the signature that came with it
   * @returns the cached answer, synchronously; or what the auth server will answer
   * @throws AuthServerUnavailable, asynchronously
   * @throws SignatureError asynchronously, when the auth server names a key that cannot be used
   */
  find(accessToken: string, keyId: string | undefined): ActiveRecord | Promise<TokenRecord> {
    const tokenHash = hashToken(accessToken)
    const kept = this.#kept(tokenHash, keyId ?? '')
    this.#options.countLookup(kept === undefined ? this.#asking() : 'hit')
    return kept ?? this.#ask(accessToken, tokenHash, keyId)
  }

  /**
   * The status of a token now, when a signature does not match the cached answer: the client may have replaced the key with
   * this id.
   *
   * @returns undefined when nothing newer is available: the answer was not cached, or was requested a moment ago
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
    this.#forgetTokensOf(grantId)
    for (const pending of this.#pending) pending.revokedGrants.add(grantId)
  }

  onGrantChanged(grantId: string): void {
    this.#forgetTokensOf(grantId)
    for (const pending of this.#pending) pending.changedGrants.add(grantId)
  }

  onClientFreezeChanged(client: string): void {
    for (const [tokenHash, { answers }] of [...this.#tokens.entries()])
      if ([...answers.values()].some(({ record }) => record.client === client)) this.#tokens.delete(tokenHash)
    for (const pending of this.#pending) pending.changedClients.add(client)
  }

  onEnded(): void {
    this.#live = false
    this.#tokens.clear()
    for (const pending of this.#pending) pending.void = true
  }

  async #ask(accessToken: string, tokenHash: string, keyId: string | undefined): Promise<TokenRecord> {
    const pending: Pending = {
      tokenHash,
      void: !this.#live,
      revokedGrants: new Set(),
      changedGrants: new Set(),
      changedClients: new Set()
    }
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
    // An answer without a key is not cached: the client may publish one at any moment.
    if (typeof record.key !== 'object') return
    // Nor is one about a frozen client: it can use its tokens again as soon as its freeze ends.
    if (record.clientFrozen || pending.changedClients.has(record.client)) return
    // The same holds for a paused grant.
    if (record.grantPaused || pending.changedGrants.has(record.grantId)) return
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
    return { ...answer, key: typeof key === 'object' ? await this.#importKey(key) : key }
  }

  #forgetTokensOf(grantId: string): void {
    for (const tokenHash of [...(this.#tokensOfGrants.get(grantId) ?? [])]) this.#tokens.delete(tokenHash)
  }

  #forgetGrantOf(kept: KeptToken, tokenHash: string): void {
    const tokens = this.#tokensOfGrants.get(kept.grantId)
    tokens?.delete(tokenHash)
    if (tokens?.size === 0) this.#tokensOfGrants.delete(kept.grantId)
  }
}

/** In the form in which the revocation stream names tokens. */
function hashToken(accessToken: string): string {
  return hashSecret(accessToken).toString('base64url')
}
