import type { KeyObject } from 'node:crypto'

/** A public key of a client, ready to verify with. */
export interface ClientKey {
  /** Its identifier: signatures name it as `keyid`. */
  readonly kid: string
  /** The key itself: 32 bytes, base64url. */
  readonly x: string
  readonly publicKey: KeyObject
}

/** Who holds a grant, and the key it is bound to. */
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

/** A document that others publish could not be had, or does not say what it must. */
export class DocumentUnavailable extends Error {
  override readonly name = 'DocumentUnavailable'
}

/** Looks up what wallet addresses publish. Keeps it for a while. */
export interface ClientDirectory {
  /**
   * Finds the current key of a client by its identifier.
   *
   * @returns undefined when the client publishes no such key
   * @throws DocumentUnavailable when its keys cannot be fetched
   */
  findKey(walletAddress: string, keyId: string): Promise<ClientKey | undefined>
  /** @throws DocumentUnavailable when there is no such document, or it is not one of a wallet address */
  getWalletAddress(url: string): Promise<WalletAddressDocument>
  /**
   * The asset an incoming payment is received in, by its public form.
   *
   * @throws DocumentUnavailable when it cannot be fetched or does not say
   */
  getReceiverAsset(url: string): Promise<{ readonly code: string; readonly scale: number }>
}
