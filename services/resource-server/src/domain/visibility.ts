import { isUuid } from '@open-payments-server/value-types/identifiers'
import {
  type AccessAction,
  type AccessType,
  type AuthorizedRequest,
  findReach,
  type Reach,
  type RequestAuthorizer
} from './authorization.js'
import { insufficientGrant, notFound } from './errors.js'

/** The fields that decide who may see a resource. */
export interface Owned {
  /** URL of the wallet address it belongs to. */
  readonly walletAddressUrl: string
  /** The client that created it. */
  readonly client: string
}

/**
 * Requires that a token reaches resources of a type.
 *
 * @param walletAddressUrl URL of the wallet address they belong to; undefined before it is known: a token that reaches none
 *   at all is then refused without a database query
 * @returns whether it reaches all of them, or only those that the client created
 * @throws Refusal `insufficient-grant`
 */
export function requireReach(
  request: Pick<AuthorizedRequest, 'access'>,
  type: AccessType,
  action: AccessAction,
  walletAddressUrl: string | undefined
): Reach {
  const reach = findReach(request.access, type, action, walletAddressUrl)
  if (reach === undefined) throw insufficientGrant()
  return reach
}

/**
 * Requires that a client may act on one resource: one that it created, or any if its access says `-all`. Quotes of other
 * clients also need the account holder's consent: see `docs/decisions/others-resources.md`.
 *
 * @param resource the resource; undefined when there is none
 * @throws Refusal `not-found` when the client may not know of the resource, `insufficient-grant` when it created the
 *   resource and the token does not reach the wallet address
 */
function requireVisible<Resource extends Owned>(
  request: Pick<AuthorizedRequest, 'access' | 'client' | 'consentedWalletAddress'>,
  type: AccessType,
  action: AccessAction,
  resource: Resource | undefined
): Resource {
  if (resource === undefined) throw notFound()
  const reach = findReach(request.access, type, action, resource.walletAddressUrl)
  const isAllowed = type !== 'quote' || request.consentedWalletAddress === resource.walletAddressUrl
  // Checked before the token: a client must not learn by asking which ids exist.
  if (resource.client !== request.client && (reach !== 'all' || !isAllowed)) throw notFound()
  if (reach === undefined) throw insufficientGrant()
  return resource
}

/** Resources of a type that can be read. */
export interface ReadableType<Resource> {
  readonly type: AccessType
  readonly reader: {
    /** Finds a resource by its id (UUID). */
    find(id: string): Promise<Resource | undefined>
  }
}

/** What reading a resource needs. */
export interface VisibleRead<Request, Resource> extends ReadableType<Resource> {
  readonly authorizer: RequestAuthorizer<Request>
}

/**
 * Reads a resource for a client that may see it.
 *
 * @param id as the client gave it
 * @throws Refusal like {@link RequestAuthorizer} and {@link requireVisible}; `insufficient-grant` without a database query
 *   when the token reads nothing of the type
 */
export async function readVisible<Request, Resource extends Owned>(
  request: Request,
  id: string,
  read: VisibleRead<Request, Resource>
): Promise<Resource> {
  return readVisibleTo(await read.authorizer.authorize(request), id, read)
}

/** The same for a client whose request was authorized before. */
export async function readVisibleTo<Resource extends Owned>(
  authorized: AuthorizedRequest,
  id: string,
  { type, reader }: ReadableType<Resource>
): Promise<Resource> {
  requireReach(authorized, type, 'read', undefined)
  const found = isUuid(id) ? await reader.find(id) : undefined
  return requireVisible(authorized, type, 'read', found)
}
