import type { Clock } from '@open-payments-server/value-types/clock'
import { LRUCache } from 'lru-cache'
import { DirectoryBusy, DocumentGone } from '../../domain/clients.js'

/** A fetched document, and how long its publisher allows it to be cached. */
export interface Fetched<Document> {
  readonly document: Document
  /** Undefined when the publisher does not say. */
  readonly maxAgeSeconds: number | undefined
}

/** Limits of a cache. */
export interface DocumentCacheOptions<Document> {
  readonly clock: Clock
  /** Maximum number of entries. */
  readonly entriesMax: number
  /** Maximum number of characters of all entries together. */
  readonly charactersMax: number
  /** Number of characters of text in a document. */
  readonly measure: (document: Document) => number
  /** Minimum time that a document is cached, whatever its publisher says; but not longer than the maximum. */
  readonly lifetimeMinSeconds: number
  /** Maximum time that a document is cached, whatever its publisher says. */
  readonly lifetimeMaxSeconds: number
  /** How much longer a document is used while its publisher does not answer. */
  readonly staleSeconds: number
  /** How long a failure is remembered, so that a broken host is not asked on every request. */
  readonly failureLifetimeSeconds: number
  /** How long a fetch is waited for if an older document may be used instead, in milliseconds. */
  readonly patienceMs: number
  readonly fetch: (url: string) => Promise<Fetched<Document>>
  /** Called for each fetch that failed when an older document may be used instead. */
  readonly onStale: (url: string, error: unknown) => void
  /** Called for each lookup: whether the document was cached, had to be fetched, or was used although expired. */
  readonly onLookup?: ((source: 'hit' | 'miss' | 'stale') => void) | undefined
}

/** A document and when it was fetched, in milliseconds since the Unix epoch. */
export interface CachedDocument<Document> {
  readonly document: Document
  readonly fetchedAtMs: number
}

/** When something may be used: neither after its time nor, if the clock was set back, before it. */
interface Period {
  readonly fromMs: number
  readonly untilMs: number
}

interface Entry<Document> {
  readonly kept?:
    { readonly value: CachedDocument<Document>; readonly fresh: Period; readonly usable: Period } | undefined
  /** The last fetch, if it failed. */
  readonly failure?: { readonly error: unknown; readonly remembered: Period } | undefined
}

/** Size counted for an entry besides its texts, in characters: the objects around them, and the error of a failed fetch. */
const ENTRY_CHARACTERS = 2_000

interface RunningFetch<Document> {
  readonly result: Promise<CachedDocument<Document>>
  /** Resolves when callers that can use an older document should no longer wait. */
  readonly patience: Promise<void>
}

/**
 * Caches fetched documents for as long as allowed, and a while longer while their publisher does not answer. Concurrent
 * requests for the same document share one fetch.
 */
export class DocumentCache<Document> {
  readonly #options: DocumentCacheOptions<Document>
  readonly #entries: LRUCache<string, Entry<Document>>
  readonly #running = new Map<string, RunningFetch<Document>>()

  constructor(options: DocumentCacheOptions<Document>) {
    this.#options = options
    this.#entries = new LRUCache({
      max: options.entriesMax,
      maxSize: options.charactersMax,
      sizeCalculation: ({ kept }, url) =>
        url.length + ENTRY_CHARACTERS + (kept === undefined ? 0 : options.measure(kept.value.document)),
      // Unusable entries take no memory.
      ttlAutopurge: true
    })
  }

  /** The current entries. */
  get size(): { readonly entries: number; readonly characters: number } {
    return { entries: this.#entries.size, characters: this.#entries.calculatedSize }
  }

  /** The document with a URL, if it is cached and may be used: synchronously. */
  getKept(url: string): CachedDocument<Document> | undefined {
    const kept = this.#entries.get(url)?.kept
    const isFresh = kept !== undefined && isWithin(kept.fresh, this.#options.clock.now())
    return isFresh ? this.#tell('hit', kept.value) : undefined
  }

  /**
   * The document with a URL, from the cache or fetched.
   *
   * @throws the error of fetching it, now or while a failure is remembered
   */
  async get(url: string): Promise<CachedDocument<Document>> {
    const fresh = this.getKept(url)
    if (fresh !== undefined) return fresh
    const nowMs = this.#options.clock.now()
    const { kept } = this.#entries.get(url) ?? {}
    if (kept === undefined || !isWithin(kept.usable, nowMs)) {
      this.#options.onLookup?.('miss')
      return this.#refresh(url)
    }
    const had = await this.#refreshOr(url, kept.value)
    return this.#tell(had === kept.value ? 'stale' : 'miss', had)
  }

  /**
   * The document with a URL, newer than the given one.
   *
   * @throws the error of fetching it, now or while a failure is remembered
   */
  async getNewer(url: string, older: CachedDocument<Document>): Promise<CachedDocument<Document>> {
    const { kept } = this.#entries.get(url) ?? {}
    return kept === undefined || kept.value === older ? this.#refresh(url) : kept.value
  }

  #tell(source: 'hit' | 'miss' | 'stale', had: CachedDocument<Document>): CachedDocument<Document> {
    this.#options.onLookup?.(source)
    return had
  }

  /** Fetches now, or waits for a running fetch. */
  async #refresh(url: string): Promise<CachedDocument<Document>> {
    const { failure } = this.#entries.get(url) ?? {}
    if (failure !== undefined && isWithin(failure.remembered, this.#options.clock.now())) throw failure.error
    return this.#fetch(url).result
  }

  /** The document fetched now; the older one if its publisher does not answer, or takes too long. */
  async #refreshOr(url: string, older: CachedDocument<Document>): Promise<CachedDocument<Document>> {
    const refreshed = this.#refresh(url).catch((error: unknown) => {
      if (error instanceof DocumentGone) throw error
      return older
    })
    const patience = this.#running.get(url)?.patience.then(() => older)
    return patience === undefined ? refreshed : Promise.race([refreshed, patience])
  }

  #fetch(url: string): RunningFetch<Document> {
    const running = this.#running.get(url)
    if (running !== undefined) return running
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.patienceMs)
    })
    const result = this.#fetchAndKeep(url).finally(() => {
      clearTimeout(timer)
      this.#running.delete(url)
    })
    const started = { result, patience }
    this.#running.set(url, started)
    return started
  }

  async #fetchAndKeep(url: string): Promise<CachedDocument<Document>> {
    const { clock, lifetimeMinSeconds, lifetimeMaxSeconds, staleSeconds } = this.#options
    try {
      const { document, maxAgeSeconds = lifetimeMaxSeconds } = await this.#options.fetch(url)
      const fetchedAtMs = clock.now()
      const value = { document, fetchedAtMs }
      const seconds = Math.min(Math.max(maxAgeSeconds, lifetimeMinSeconds), lifetimeMaxSeconds)
      const [fresh, usable] = [periodOf(seconds, fetchedAtMs), periodOf(seconds + staleSeconds, fetchedAtMs)]
      this.#keep(url, { kept: { value, fresh, usable } })
      return value
    } catch (error) {
      this.#rememberFailure(url, error)
      throw error
    }
  }

  /** Stored beside the document: a failed refresh does not void what may still be used, unless it is known to be gone. */
  #rememberFailure(url: string, error: unknown): void {
    if (error instanceof DirectoryBusy) return
    const remembered = periodOf(this.#options.failureLifetimeSeconds, this.#options.clock.now())
    const kept = error instanceof DocumentGone ? undefined : this.#entries.get(url)?.kept
    if (kept !== undefined) this.#options.onStale(url, error)
    this.#keep(url, { kept, failure: { error, remembered } })
  }

  #keep(url: string, entry: Entry<Document>): void {
    const nowMs = this.#options.clock.now()
    const untilMs = Math.max(entry.kept?.usable.untilMs ?? 0, entry.failure?.remembered.untilMs ?? 0)
    // The cache treats no time at all as for ever.
    this.#entries.set(url, entry, { ttl: Math.max(1, untilMs - nowMs) })
  }
}

function periodOf(seconds: number, fromMs: number): Period {
  return { fromMs, untilMs: fromMs + seconds * 1_000 }
}

function isWithin({ fromMs, untilMs }: Period, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs
}
