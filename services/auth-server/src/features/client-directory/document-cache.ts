import type { Clock } from '@open-payments-server/runtime'
import { LRUCache } from 'lru-cache'

/** A document that was fetched, and how long its publisher lets it be kept. */
export interface Fetched<Document> {
  readonly document: Document
  /** Undefined when the publisher does not say. */
  readonly maxAgeSeconds: number | undefined
}

/** Limits of a cache. */
export interface DocumentCacheOptions<Document> {
  readonly clock: Clock
  /** Most entries. */
  readonly entriesMax: number
  /** Longest that a document is kept, whatever its publisher says. */
  readonly lifetimeMaxSeconds: number
  /** How long a failure is kept, so that a broken host is not asked at every request. */
  readonly failureLifetimeSeconds: number
  readonly fetch: (url: string) => Promise<Fetched<Document>>
}

/** A document and when it was fetched, in milliseconds since the Unix epoch. */
export interface CachedDocument<Document> {
  readonly document: Document
  readonly fetchedAtMs: number
}

type Entry<Document> =
  | { readonly kind: 'document'; readonly value: CachedDocument<Document>; readonly freshUntilMs: number }
  | { readonly kind: 'failure'; readonly error: unknown; readonly freshUntilMs: number }

/**
 * Keeps what was fetched for as long as it may be kept. Requests for the same document while it is being fetched wait for
 * the one fetch.
 */
export class DocumentCache<Document> {
  readonly #options: DocumentCacheOptions<Document>
  readonly #entries: LRUCache<string, Entry<Document>>
  readonly #running = new Map<string, Promise<CachedDocument<Document>>>()

  constructor(options: DocumentCacheOptions<Document>) {
    this.#options = options
    this.#entries = new LRUCache({ max: options.entriesMax })
  }

  /**
   * The document under a URL, from the cache or fetched.
   *
   * @throws what fetching it threw, now or within the lifetime of a failure
   */
  async get(url: string): Promise<CachedDocument<Document>> {
    const entry = this.#entries.get(url)
    if (entry === undefined || entry.freshUntilMs <= this.#options.clock.now()) return this.refresh(url)
    if (entry.kind === 'failure') throw entry.error
    return entry.value
  }

  /** The document under a URL, fetched now, or by a fetch that runs already. */
  refresh(url: string): Promise<CachedDocument<Document>> {
    const running = this.#running.get(url)
    if (running !== undefined) return running
    const fetching = this.#fetch(url).finally(() => this.#running.delete(url))
    this.#running.set(url, fetching)
    return fetching
  }

  async #fetch(url: string): Promise<CachedDocument<Document>> {
    const { clock, lifetimeMaxSeconds, failureLifetimeSeconds } = this.#options
    try {
      const { document, maxAgeSeconds = lifetimeMaxSeconds } = await this.#options.fetch(url)
      const fetchedAtMs = clock.now()
      const value = { document, fetchedAtMs }
      const freshUntilMs = fetchedAtMs + Math.min(maxAgeSeconds, lifetimeMaxSeconds) * 1_000
      this.#entries.set(url, { kind: 'document', value, freshUntilMs })
      return value
    } catch (error) {
      const now = clock.now()
      const kept = this.#entries.get(url)
      // A refresh that failed does not void what may still be kept.
      if (kept?.kind !== 'document' || kept.freshUntilMs <= now) {
        this.#entries.set(url, { kind: 'failure', error, freshUntilMs: now + failureLifetimeSeconds * 1_000 })
      }
      throw error
    }
  }
}
