import type { HttpRequestParts } from '@open-payments-server/http-signatures'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import type { ClientAuthenticator, HolderAuthorizer } from '../authentication.js'
import type { BoundClient } from '../../domain/clients.js'
import { invalidContinuation, invalidToken } from '../../domain/errors.js'
import type { ManagedToken } from '../../domain/token-record.js'
import type { TokenHolders } from '../../modules/tokens/index.js'
import { matchesHash, parseGnapToken } from '../../domain/secrets.js'
import type { ContinuableGrant } from './find-grants.js'

/** What authorizing token holders needs. */
export interface HolderAuthorizerDependencies {
  /** Finds a grant that a client continues, by its id (UUID). */
  readonly findGrant: (id: string) => Promise<ContinuableGrant | undefined>
  /** Finds a token that a client manages, by its id (UUID). */
  readonly findToken: (id: string) => Promise<ManagedToken | undefined>
  readonly authenticator: Pick<ClientAuthenticator, 'receive' | 'verifyHolder'>
  /** Caches the token holders of tokens: their signatures are verified without a statement. */
  readonly tokenHolders: Pick<TokenHolders, 'find'>
}

/** Used when nothing was found. No secret has this hash. */
const NO_HASH = Buffer.alloc(32)

/**
 * Checks the signature as far as possible without a key, then the presented token, and then who signed. An unknown id, a
 * wrong token and another client's key cost the same, one statement and one verification, and are refused in the same
 * words, so that nobody learns which grants and tokens exist. Keys are fetched only for requests with the right token.
 */
export function createHolderAuthorizer(dependencies: HolderAuthorizerDependencies): HolderAuthorizer {
  const { findGrant, findToken, authenticator, tokenHolders } = dependencies
  /** What was found, and the token that was presented for it; undefined for everyone but its token holder. */
  const authorize = async <Found extends { readonly holder: BoundClient; readonly secretHash: Uint8Array }>(
    id: string,
    request: HttpRequestParts,
    find: (id: string) => Promise<Found | undefined>,
    recall: (id: string) => Found | undefined = () => undefined
  ): Promise<{ readonly found: Found; readonly secret: string } | undefined> => {
    const signature = authenticator.receive(request)
    const secret = readToken(request)
    if (secret === undefined || !isUuid(id)) return undefined
    const recalled = recall(id)
    const found = recalled ?? (await find(id))
    const isRight = matchesHash(secret, found?.secretHash ?? NO_HASH)
    const isHolder = await authenticator.verifyHolder(signature, isRight ? found?.holder : undefined)
    if (found !== undefined && isRight && isHolder) return { found, secret }
    // Nobody else may notice the cache: refusing costs the same with and without it.
    if (recalled !== undefined) await find(id)
    return undefined
  }

  return {
    async authorizeContinuation(continuationId, request) {
      const authorized = await authorize(continuationId, request, findGrant)
      if (authorized === undefined) throw invalidContinuation()
      const { grant, holder } = authorized.found
      return { ...grant, holder, continuationToken: authorized.secret }
    },

    async authorizeManagement(tokenId, request) {
      const authorized = await authorize(tokenId, request, findToken, (id) => tokenHolders.find(id))
      if (authorized === undefined) throw invalidToken()
      return authorized.found
    }
  }
}

function readToken(request: HttpRequestParts): string | undefined {
  const header = request.headers.authorization
  const [value, ...others] = typeof header === 'string' ? [header] : (header ?? [])
  return others.length > 0 ? undefined : parseGnapToken(value)
}
