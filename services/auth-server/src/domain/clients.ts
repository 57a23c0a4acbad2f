import type { ClientKey } from '@open-payments-server/http-signatures'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { hostUnavailable, RequestRefused, unresolvedClient } from './errors.js'
import { normalizeWalletAddress } from './urls.js'

/** A public key of a client, as it is given to others. */
export type PublicKey = Pick<ClientKey, 'kid' | 'x'>

/** The token holder of a grant, and the key that requested it. */
export interface BoundClient {
  /** URL of the client's wallet address; undefined for a client identified only by its key. */
  readonly walletAddress: string | undefined
  /** RFC 7638 thumbprint of the key of a client identified only by it. */
  readonly jwkThumbprint: string | undefined
  /** `kid` of the key that signed the grant request. */
  readonly keyId: string
  /** The key that signed the grant request: 32 bytes, base64url. */
  readonly keyX: string
}

/** The parts of a wallet address document that grants depend on. */
export interface WalletAddressDocument {
  /** Its URL as the document spells it; undefined when it is missing. */
  readonly id: string | undefined
  /** Its public name. */
  readonly publicName: string | undefined
  readonly assetCode: string
  readonly assetScale: number
  /** Grant endpoint of its authorization server. */
  readonly authServer: string
}

/** Where a client publishes its keys, below its wallet address. */
const KEYS_PATH = '/jwks.json'

/** The JWK Set of a client (interface 5). */
export function keysUrlOf(walletAddress: string): string {
  return walletAddress + KEYS_PATH
}

/** The wallet address below which a URL names the JWK Set; undefined for any other text. */
export function ownerOfKeys(url: string): string | undefined {
  return url.endsWith(KEYS_PATH) ? normalizeWalletAddress(url.slice(0, -KEYS_PATH.length)) : undefined
}

/** A document that others publish could not be fetched, or is invalid. */
export class DocumentUnavailable extends Error {
  override readonly name: string = 'DocumentUnavailable'
}

/** The host says that there is no such document. */
export class DocumentGone extends DocumentUnavailable {
  override readonly name: string = 'DocumentGone'
}

/** The host says that the document is that of another wallet address: whoever has it signs as that one, or not at all. */
export class DocumentOfAnother extends DocumentGone {
  override readonly name = 'DocumentOfAnother'

  /** @param walletAddress the one whose document it is, as it says */
  constructor(readonly walletAddress: string) {
    super(`the document is that of ${walletAddress}`)
  }
}

/** The host says that it cannot answer now, or does not answer: nobody can tell what it publishes. */
export class HostUnavailable extends DocumentUnavailable {
  override readonly name = 'HostUnavailable'
  /**
   * Whether whoever named the host may be told: it said so itself, or is this provider's. That any other host does not answer
   * looks like a host that may not be asked. Otherwise strangers could find out which names this network knows.
   */
  readonly mayBeTold: boolean

  constructor(
    message: string,
    { mayBeTold, cause }: { readonly mayBeTold: boolean; readonly cause: unknown }
  ) {
    super(message, { cause })
    this.mayBeTold = mayBeTold
  }
}

/**
 * The refusal of a client for which a document of its own could not be fetched: `unresolved-client`, or `host-unavailable` while
 * nobody can tell.
 *
 * @param document names it in a sentence
 * @param isProven whether it is certain that its host published keys of the client
 */
export function cannotResolve(
  {
    document,
    url,
    isProven
  }: { readonly document: string; readonly url: string; readonly isProven: boolean },
  error: DocumentUnavailable
): Error {
  if (error instanceof DocumentOfAnother) return spelledOtherwise(error.walletAddress, error)
  const problem = `${document} cannot be fetched from ${url}`
  return error instanceof HostUnavailable && (isProven || error.mayBeTold)
    ? hostUnavailable(`${problem} now`, error)
    : unresolvedClient(problem, error)
}

/**
 * The refusal of a client that signs as another URL than that of its wallet address. Under each of several, what operators and
 * account holders decide about it would count for that one only.
 *
 * @param id its wallet address, as that says
 */
export function spelledOtherwise(id: string, cause?: unknown): Error {
  return unresolvedClient(`the client's wallet address is spelled ${id}`, cause)
}

/** When a request may come again that needed a document while too many fetches were running, in seconds. */
const RETRY_AFTER_SECONDS = 1

/**
 * Too many fetches are running, or this document was fetched too often. This says nothing about the document, which may be
 * requested again later. Requests that need it get this error.
 */
export class DirectoryBusy extends RequestRefused {
  override readonly name = 'DirectoryBusy'

  /** @param cause the refusal by a rate limit, which is then the reason of this one too; anything else is for the log */
  constructor(cause?: unknown) {
    if (cause instanceof CommonRefusal) super(cause.because, cause.message, cause)
    else {
      super('directory-busy', 'temporarily unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause })
    }
  }
}

/** Looks up what wallet addresses publish, and caches it for a while. */
export interface ClientDirectory {
  /**
   * Finds the current key of a client by its identifier.
   *
   * @returns undefined when the client publishes no such key
   * @throws DocumentUnavailable when its keys cannot be fetched, such as DocumentOfAnother; DirectoryBusy
   */
  findKey(walletAddress: string, keyId: string): Promise<PublicKey | undefined>
  /**
   * Records that a signature was verified with a key of this client: for a while, strangers cannot keep its documents from
   * being fetched.
   */
  vouchFor(walletAddress: string): void
  /** @throws DocumentUnavailable when there is no such document, or it is not a wallet address document; DirectoryBusy */
  getWalletAddress(url: string): Promise<WalletAddressDocument>
  /**
   * The asset of an incoming payment, from its public form.
   *
   * @throws DocumentUnavailable when it cannot be fetched or has no asset; DirectoryBusy
   */
  getReceiverAsset(url: string): Promise<{ readonly code: string; readonly scale: number }>
}

/**
 * The key that a token holder must sign with now. For a client identified by its wallet address, it is the one published
 * under this identifier now: a removed key does not count, even if it requested the grant. A client identified only by its
 * key has that key and no other.
 *
 * @param keyId `keyid` of the signature
 * @returns undefined when it names no current key of the token holder
 * @throws DocumentUnavailable when the client's keys cannot be fetched; DirectoryBusy
 */
export async function findHolderKey(
  { walletAddress, keyId: boundKeyId, keyX }: BoundClient,
  keyId: string,
  directory: Pick<ClientDirectory, 'findKey'>
): Promise<PublicKey | undefined> {
  if (walletAddress !== undefined) {
    // What is no spelling of a wallet address any more names nobody: no freeze could meet it.
    const isName = normalizeWalletAddress(walletAddress) === walletAddress
    return isName ? directory.findKey(walletAddress, keyId) : undefined
  }
  return keyId === boundKeyId ? { kid: boundKeyId, x: keyX } : undefined
}
