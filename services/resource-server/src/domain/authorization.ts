/** Type of an access item (interface 2.3). */
export type AccessType = 'incoming-payment' | 'outgoing-payment' | 'quote'

/** What a client may do with the resources of a type. */
export type AccessAction = 'create' | 'read' | 'read-all' | 'list' | 'list-all' | 'complete'

/** One right of an access token, as far as the resource server decides by it. Limits are enforced by the auth server. */
export interface AccessItem {
  readonly type: string
  readonly actions: readonly string[]
  /** URL of the wallet address it applies to; undefined when it applies to any. */
  readonly identifier: string | undefined
}

/** The sender of a request and what it may do, after its token and signature were verified. */
export interface AuthorizedRequest {
  /** Value of the access token. */
  readonly accessToken: string
  /** Until when this holds, in milliseconds since the Unix epoch: the token expires, or allows less. */
  readonly tokenExpiresAtMs: number
  /** Id of the grant behind the token. */
  readonly grantId: string
  /** The token holder: URL of a client's wallet address, or `jwk:` and the key's thumbprint. */
  readonly client: string
  readonly access: readonly AccessItem[]
  /** URL of the wallet address whose account holder consented to the grant; undefined when it needed no consent. */
  readonly consentedWalletAddress: string | undefined
  /** The request's body as received; undefined when there was none. */
  readonly body: Uint8Array | undefined
  /** `keyid` of the signature: names the client's key that made it. */
  readonly keyId: string
  /** The verified signature. */
  readonly signature: {
    /** `created`, in seconds since the Unix epoch. */
    readonly createdSeconds: number
    /** The signature itself. Ed25519 is deterministic: the same signed request has the same bytes. */
    readonly bytes: Uint8Array
  }
}

/** Verifies the token and the signature of requests (interface 5). `Request` is the transport's type. */
export interface RequestAuthorizer<Request> {
  /**
   * Verifies a request whose body the app has read.
   *
   * @throws Refusal `invalid-token`, `inactive-token` or `invalid-signature`
   * @throws AuthServerUnavailable, SharedStoreUnavailable when the token or the nonce cannot be checked now
   */
  authorize(request: Request): Promise<AuthorizedRequest>
}

/** Whether a client may act on everything of a wallet address, or only on what it created itself. */
export type Reach = 'own' | 'all'

/**
 * Finds how far a token reaches: `all` when an item covers the action's `-all` form, `own` when one covers the action
 * itself, undefined when none does.
 *
 * @param walletAddress URL of the wallet address the resource belongs to; undefined while it is unknown, and then items for
 *   any wallet address count
 */
export function findReach(
  access: readonly AccessItem[],
  type: AccessType,
  action: AccessAction,
  walletAddress: string | undefined
): Reach | undefined {
  const covering = access.filter(
    (item) =>
      item.type === type &&
      (walletAddress === undefined || item.identifier === undefined || item.identifier === walletAddress)
  )
  if (covering.some((item) => item.actions.includes(`${action}-all`))) return 'all'
  return covering.some((item) => item.actions.includes(action)) ? 'own' : undefined
}

/**
 * Names a token holder as it is stored with what it created: the URL of the client's wallet address, or `jwk:` and the
 * thumbprint (RFC 7638) of the key of a client that is identified only by it.
 */
export function nameClient(client: { walletAddress: string; jwkThumbprint: string }): string {
  return client.walletAddress === '' ? `jwk:${client.jwkThumbprint}` : client.walletAddress
}
