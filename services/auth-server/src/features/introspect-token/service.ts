import { type Clock, hashSecret, type Logger } from '@open-payments-server/runtime'
import { type BoundClient, type ClientDirectory, DocumentUnavailable } from '../../domain/clients.js'
import type { TokenRecord } from '../../domain/token-record.js'
import type { TokenRepository } from './repository.js'

/** Longest key id that is looked up, in characters. */
export const KEY_ID_LENGTH_MAX = 256

/** What a token is worth (RFC 9767 §3.3). */
export type TokenWorth =
  /** It was not issued here. */
  | { readonly status: 'unknown' }
  /** It is expired, rotated or revoked, or its grant is over. */
  | { readonly status: 'inactive' }
  | {
      readonly status: 'active'
      readonly record: TokenRecord
      /** Key that the request must be signed with; undefined when the client has no current key of that id. */
      readonly key: PublicKey | undefined
    }

/** An Ed25519 public key (RFC 8037). */
export interface PublicKey {
  readonly kid: string
  /** Base64url-encoded public key. */
  readonly x: string
}

/**
 * Tells what a token is worth.
 *
 * @param accessToken its value, as the client sent it
 * @param keyId `keyid` of the signature that came with it; empty for the key the grant is bound to
 */
export type IntrospectToken = (accessToken: string, keyId: string) => Promise<TokenWorth>

/** What introspection needs. */
export interface IntrospectTokenDependencies {
  readonly repository: TokenRepository
  readonly clientDirectory: Pick<ClientDirectory, 'findKey'>
  readonly clock: Clock
  readonly logger: Logger
}

export function createIntrospectToken(dependencies: IntrospectTokenDependencies): IntrospectToken {
  const { repository, clock } = dependencies
  return async (accessToken, keyId) => {
    const record = await repository.findToken(hashSecret(accessToken), new Date(clock.now()))
    if (record === undefined) return { status: 'unknown' }
    if (!record.active) return { status: 'inactive' }
    return { status: 'active', record, key: await findKey(record.client, keyId, dependencies) }
  }
}

/** The bound key, or another current key of the same client, so that clients can change their keys (decisions). */
async function findKey(
  client: BoundClient,
  keyId: string,
  { clientDirectory, logger }: IntrospectTokenDependencies
): Promise<PublicKey | undefined> {
  if (keyId === '' || keyId === client.keyId) return { kid: client.keyId, x: client.keyX }
  if (client.walletAddress === undefined || keyId.length > KEY_ID_LENGTH_MAX) return undefined
  try {
    const key = await clientDirectory.findKey(client.walletAddress, keyId)
    return key === undefined ? undefined : { kid: key.kid, x: key.x }
  } catch (error) {
    if (!(error instanceof DocumentUnavailable)) throw error
    // That it is a current key cannot be shown now, so it does not count as one.
    logger.warn({ err: error, client: client.walletAddress }, 'the keys of a client cannot be fetched')
    return undefined
  }
}
