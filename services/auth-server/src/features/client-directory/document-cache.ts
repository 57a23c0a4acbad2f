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

type Entry<Document> = Freshness &
  (
    | { readonly kind: 'document'; readonly value: CachedDocument<Document> }
    | { readonly kind: 'failure'; readonly error: unknown }
  )

/** When an entry may be used: neither after its time nor, by a clock that was set back, before it. */
interface Freshness {
  readonly freshFromMs: number
  readonly freshUntilMs: number
}

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
    if (entry === undefined || !isFresh(entry, this.#options.clock.now())) return this.refresh(url)
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
      const freshness = freshFor(Math.min(maxAgeSeconds, lifetimeMaxSeconds), fetchedAtMs)
      this.#entries.set(url, { kind: 'document', value, ...freshness })
      return value
    } catch (error) {
      const nowMs = clock.now()
      const kept = this.#entries.get(url)
      // A refresh that failed does not void what may still be kept.
      if (kept?.kind !== 'document' || !isFresh(kept, nowMs)) {
        this.#entries.set(url, { kind: 'failure', error, ...freshFor(failureLifetimeSeconds, nowMs) })
      }
      throw error
    }
  }
}

function freshFor(seconds: number, fromMs: number): Freshness {
  return { freshFromMs: fromMs, freshUntilMs: fromMs + seconds * 1_000 }
}

function isFresh({ freshFromMs, freshUntilMs }: Freshness, nowMs: number): boolean {
  return freshFromMs <= nowMs && nowMs < freshUntilMs
}
