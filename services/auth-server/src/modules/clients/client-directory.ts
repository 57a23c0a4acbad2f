import {
  type JsonResponse,
  OutgoingRequestError,
  type OutgoingRequestErrorReason,
  type SafeHttpClient
} from '@open-payments-server/http-client'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Asset } from '@open-payments-server/value-types/amounts'
import {
  type ClientDirectory,
  DirectoryBusy,
  DocumentGone,
  DocumentOfAnother,
  DocumentUnavailable,
  HostUnavailable,
  keysUrlOf,
  ownerOfKeys,
  type WalletAddressDocument
} from '../../domain/clients.js'
import type { KeyLookupCounter } from '../../domain/counters.js'
import { HOST_RETRY_SECONDS } from '../../domain/errors.js'
import { DocumentCache, type Fetched } from './document-cache.js'
import { type ClientKeys, readKeys, readReceiverAsset, readWalletAddress } from './documents.js'

/** Maximum number of cached documents of each kind. */
const DOCUMENTS_MAX = 10_000
/** Maximum number of characters cached of the documents of each kind: 50 million in total. */
const CHARACTERS_MAX = { keySets: 30_000_000, walletAddresses: 12_500_000, receivers: 7_500_000 }
/** How long the asset of a receiver is cached: it never changes. */
const RECEIVER_LIFETIME_SECONDS = 3_600
/** Minimum time that a document is cached: `no-store` must not make every request of a client a fetch. */
const LIFETIME_MIN_SECONDS = 5
/** How long a host may take to answer before an older document is used instead, in milliseconds. */
const PATIENCE_MS = 1_000
/** Statuses that say that there is no such document, rather than that the host cannot answer. */
const GONE = new Set([404, 410])
/** Statuses below 500 by which a host says that it cannot answer now. */
const BUSY = new Set([408, 429])
/** Reasons of failures without an answer that leave open whether there is such a document. */
const UNANSWERED = new Set<OutgoingRequestErrorReason>(['timeout', 'network'])
/** Minimum time between fetches for a client that signs with a key it does not publish. */
const UNKNOWN_KEY_REFETCH_SECONDS = 5

/** What the directory needs. */
export interface ClientDirectoryOptions {
  readonly httpClient: Pick<SafeHttpClient, 'getJson' | 'vouchFor'>
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn'>
  /** Origins of this provider's own wallet addresses. */
  readonly ownOrigins: readonly string[]
  /** Maximum time that a document is cached; `Cache-Control` can shorten it. */
  readonly lifetimeMaxSeconds: number
  /** How much longer a client's keys are used while their host does not answer. */
  readonly staleKeysSeconds: number
  /** How long a host may take to answer before older keys are used instead; default: a second. */
  readonly patienceMs?: number
  readonly countKeyLookup?: KeyLookupCounter | undefined
}

/** Looks up wallet address documents and keys over HTTP, and caches them for a while. */
export function createClientDirectory(options: ClientDirectoryOptions): ClientDirectory {
  const { httpClient, clock, ownOrigins } = options
  const from = { httpClient, ownOrigins }
  const limits = {
    clock,
    entriesMax: DOCUMENTS_MAX,
    lifetimeMinSeconds: LIFETIME_MIN_SECONDS,
    lifetimeMaxSeconds: options.lifetimeMaxSeconds,
    failureLifetimeSeconds: HOST_RETRY_SECONDS,
    patienceMs: options.patienceMs ?? PATIENCE_MS,
    onStale(url: string, error: unknown) {
      options.logger.warn({ err: error, url }, 'a document cannot be fetched again')
    }
  }
  const keySets = new DocumentCache<ClientKeys>({
    ...limits,
    charactersMax: CHARACTERS_MAX.keySets,
    measure: measureKeys,
    staleSeconds: options.staleKeysSeconds,
    onLookup: options.countKeyLookup,
    fetch: (url) => fetchDocument(from, url, readOwnKeys)
  })
  const walletAddresses = new DocumentCache<WalletAddressDocument>({
    ...limits,
    charactersMax: CHARACTERS_MAX.walletAddresses,
    measure: measureTexts,
    staleSeconds: 0,
    fetch: (url) => fetchDocument(from, url, readWalletAddress)
  })
  const receiverAssets = new DocumentCache<Asset>({
    ...limits,
    charactersMax: CHARACTERS_MAX.receivers,
    measure: measureTexts,
    lifetimeMinSeconds: RECEIVER_LIFETIME_SECONDS,
    lifetimeMaxSeconds: RECEIVER_LIFETIME_SECONDS,
    staleSeconds: 0,
    fetch: (url) => fetchDocument(from, url, readReceiverAsset)
  })

  return {
    async findKey(walletAddress, keyId) {
      const url = keysUrlOf(walletAddress)
      const kept = keySets.getKept(url) ?? (await keySets.get(url))
      const key = kept.document.get(keyId)
      if (key !== undefined || clock.now() < kept.fetchedAtMs + UNKNOWN_KEY_REFETCH_SECONDS * 1_000)
        return key
      // The client may have added the key since.
      return (await keySets.getNewer(url, kept)).document.get(keyId)
    },
    async getWalletAddress(url) {
      return (await walletAddresses.get(url)).document
    },
    async getReceiverAsset(url) {
      return (await receiverAssets.get(url)).document
    },
    vouchFor(walletAddress) {
      httpClient.vouchFor(walletAddress)
    }
  }
}

/** Number of characters of text in a client's keys. */
export function measureKeys(keys: ClientKeys): number {
  return [...keys.values()].reduce((sum, key) => sum + measureTexts(key), 0)
}

function measureTexts(document: object): number {
  return Object.values(document).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    0
  )
}

async function fetchDocument<Document>(
  { httpClient, ownOrigins }: Pick<ClientDirectoryOptions, 'httpClient' | 'ownOrigins'>,
  url: string,
  read: (body: unknown, answer: JsonResponse, url: string) => Document | undefined
): Promise<Fetched<Document>> {
  try {
    const answer = await httpClient.getJson(url)
    const document = read(answer.body, answer, url)
    if (document === undefined) throw new DocumentUnavailable('the document is not what it should be')
    return { document, maxAgeSeconds: answer.maxAgeSeconds }
  } catch (error) {
    if (!(error instanceof OutgoingRequestError)) throw error
    throw failureOf(error, ownOrigins.includes(new URL(url).origin))
  }
}

/**
 * Reads the keys of a client, unless they say that they are those of another wallet address by `Content-Location`, the URL of what an
 * answer contains (RFC 9110 §8.7). One that names no keys, such as a variant of a file, says nothing about whose they are.
 *
 * @throws DocumentOfAnother
 */
function readOwnKeys(body: unknown, { headers }: JsonResponse, url: string): ClientKeys | undefined {
  const owner = ownerOfKeys(headers['content-location'] ?? '')
  if (owner !== undefined && owner !== ownerOfKeys(url)) throw new DocumentOfAnother(owner)
  return readKeys(body)
}

function failureOf(error: OutgoingRequestError, isOwn: boolean): Error {
  const { reason, status = 0 } = error
  if (reason === 'busy') return new DirectoryBusy(error)
  const problem = 'the document cannot be fetched'
  const saysSo = reason === 'status' && (status >= 500 || BUSY.has(status))
  if (saysSo || UNANSWERED.has(reason)) {
    return new HostUnavailable(problem, { mayBeTold: saysSo || isOwn, cause: error })
  }
  const Unavailable = GONE.has(status) ? DocumentGone : DocumentUnavailable
  return new Unavailable(problem, { cause: error })
}
