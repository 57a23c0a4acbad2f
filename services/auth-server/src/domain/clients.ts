import type { KeyObject } from 'node:crypto'
import { Refusal } from '@open-payments-server/runtime'
import type { RefusedBecause } from './errors.js'

/** A public key of a client, ready to verify with. */
export interface ClientKey {
  /** Its identifier: signatures name it as `keyid`. */
  readonly kid: string
  /** The key itself: 32 bytes, base64url. */
  readonly x: string
  readonly publicKey: KeyObject
}

/** A public key of a client, as others are told of it. */
export type PublicKey = Pick<ClientKey, 'kid' | 'x'>

/** Who holds a grant, and the key that asked for it. */
export interface BoundClient {
  /** URL of the client's wallet address; undefined for a client known by its key alone. */
  readonly walletAddress: string | undefined
  /** RFC 7638 thumbprint of the key of a client known by its key alone. */
  readonly jwkThumbprint: string | undefined
  /** `kid` of the key that signed the grant request. */
  readonly keyId: string
  /** That key: 32 bytes, base64url. */
  readonly keyX: string
}

/** What a wallet address says of itself, as far as grants depend on it. */
export interface WalletAddressDocument {
  /** Its URL as it spells itself; undefined when it does not say. */
  readonly id: string | undefined
  /** Name its owner wants to be shown by. */
  readonly publicName: string | undefined
  readonly assetCode: string
  readonly assetScale: number
  /** Grant endpoint of its authorization server. */
  readonly authServer: string
}

/** Where a client publishes its keys (interface 5). */
export function keysUrlOf(walletAddress: string): string {
  return `${walletAddress}/jwks.json`
}

/** A document that others publish could not be had, or does not say what it must. */
export class DocumentUnavailable extends Error {
  override readonly name: string = 'DocumentUnavailable'
}

/** Whoever should publish a document says that there is none. */
export class DocumentGone extends DocumentUnavailable {
  override readonly name = 'DocumentGone'
}

/**
 * Too much is being fetched already, or this document too often. That says nothing about the document: it may be asked for
 * again in a while. Whoever cannot do without it is answered with this.
 */
export class DirectoryBusy extends Refusal {
  override readonly name = 'DirectoryBusy'

  /** @param cause what happened: for the log, or the limit that was reached */
  constructor(cause?: unknown) {
    super('directory-busy' satisfies RefusedBecause, 'temporarily unavailable', { cause })
  }
}

/** Looks up what wallet addresses publish. Keeps it for a while. */
export interface ClientDirectory {
  /**
   * Finds the current key of a client by its identifier.
   *
   * @returns undefined when the client publishes no such key
   * @throws DocumentUnavailable when its keys cannot be fetched; DirectoryBusy
   */
  findKey(walletAddress: string, keyId: string): Promise<PublicKey | undefined>
  /**
   * Tells that a signature was verified with a key of this client: for a while, strangers cannot keep its documents from
   * being fetched.
   */
  vouchFor(walletAddress: string): void
  /** @throws DocumentUnavailable when there is no such document, or it is not one of a wallet address; DirectoryBusy */
  getWalletAddress(url: string): Promise<WalletAddressDocument>
  /**
   * The asset an incoming payment is received in, by its public form.
   *
   * @throws DocumentUnavailable when it cannot be fetched or does not say; DirectoryBusy
   */
  getReceiverAsset(url: string): Promise<{ readonly code: string; readonly scale: number }>
}

/**
 * The key that a holder must sign with now. Of a client known by its wallet address it is the one published under this
 * identifier at present: a key that the client took out is none, also when it asked for the grant. A client known by its
 * key alone has that key and no other.
 *
 * @param keyId `keyid` of the signature
 * @returns undefined when it names no current key of the holder
 * @throws DocumentUnavailable when the client's keys cannot be fetched; DirectoryBusy
 */
export async function findHolderKey(
  { walletAddress, keyId: boundKeyId, keyX }: BoundClient,
  keyId: string,
  directory: Pick<ClientDirectory, 'findKey'>
): Promise<PublicKey | undefined> {
  if (walletAddress !== undefined) return directory.findKey(walletAddress, keyId)
  return keyId === boundKeyId ? { kid: boundKeyId, x: keyX } : undefined
}
