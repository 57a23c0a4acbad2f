import type { IncomingRequest } from '@open-payments-server/http-server'

/** Type of an access item (interface 2.3). */
export type AccessType = 'incoming-payment' | 'outgoing-payment' | 'quote'

/** What a client may do with the resources of a type. */
export type AccessAction = 'create' | 'read' | 'read-all' | 'list' | 'list-all' | 'complete'

/** One right of an access token, as far as the resource server decides by it. Limits are the auth server's to keep. */
export interface AccessItem {
  readonly type: string
  readonly actions: readonly string[]
  /** URL of the wallet address it is about; undefined when it is about any. */
  readonly identifier: string | undefined
}

/** Who a request comes from and what it may do, once its token and signature were checked. */
export interface AuthorizedRequest {
  /** Value of the access token. */
  readonly accessToken: string
  /** Id of the grant behind the token. */
  readonly grantId: string
  /** Who holds the grant: URL of a client's wallet address, or `jwk:` and the key's thumbprint. */
  readonly client: string
  readonly access: readonly AccessItem[]
  /** URL of the wallet address whose account holder agreed to the grant; undefined when nobody was asked. */
  readonly consentedWalletAddress: string | undefined
  /** The request's body as received; undefined when there was none. */
  readonly body: Uint8Array | undefined
  /** The signature that was checked. */
  readonly signature: {
    /** `created`, in seconds since the Unix epoch. */
    readonly createdSeconds: number
    /** The signature itself. Ed25519 is deterministic: the same signed request carries the same bytes. */
    readonly bytes: Uint8Array
  }
}

/**
 * Counts a request whose token and signature were checked. Whoever only forged them, or asks too often, leaves nothing behind.
 *
 * @throws PublicError 429 when one of the limits is reached
 */
export type CountVerified = (request: IncomingRequest, authorized: AuthorizedRequest) => void

/** Checks the token and the signature of requests (interface 5). */
export interface RequestAuthorizer {
  /**
   * Checks a request whose body was read by the app.
   *
   * @throws Refusal `invalid-token`, `inactive-token` or `invalid-signature`
   */
  authorize(request: IncomingRequest): Promise<AuthorizedRequest>
}

/** Whether a client may act on everything of a wallet address, or only on what it created itself. */
export type Reach = 'own' | 'all'

/**
 * Finds how far a token reaches: `all` when an item covers the action's `-all` form, `own` when one covers the action
 * itself, undefined when none does.
 *
 * @param walletAddress URL of the wallet address the resource belongs to; undefined while it is not known yet, and then
 *   items about any wallet address count
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
