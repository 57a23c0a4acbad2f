import { type Clock, hashSecret, type Logger } from '@open-payments-server/runtime'
import {
  type BoundClient,
  type ClientDirectory,
  DirectoryBusy,
  DocumentUnavailable,
  findHolderKey,
  type PublicKey
} from '../../domain/clients.js'
import type { TokenRecord } from '../../domain/token-record.js'
import type { TokenReader } from '../../modules/tokens/index.js'

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
      readonly key: KeyWorth
    }

/**
 * Key that the request must be signed with; undefined when the client has no current key of that id, `unavailable` when
 * nobody can tell now.
 */
export type KeyWorth = PublicKey | 'unavailable' | undefined

/**
 * Tells what a token is worth.
 *
 * @param accessToken its value, as the client sent it
 * @param keyId `keyid` of the signature that came with it; empty for that of the key the grant was asked with
 */
export type IntrospectToken = (accessToken: string, keyId: string) => Promise<TokenWorth>

/** What introspection needs. */
export interface IntrospectTokenDependencies {
  readonly tokens: Pick<TokenReader, 'findToken'>
  readonly clientDirectory: Pick<ClientDirectory, 'findKey'>
  readonly clock: Clock
  readonly logger: Logger
}

export function createIntrospectToken(dependencies: IntrospectTokenDependencies): IntrospectToken {
  const { tokens, clock } = dependencies
  return async (accessToken, keyId) => {
    const record = await tokens.findToken(hashSecret(accessToken), new Date(clock.now()))
    if (record === undefined) return { status: 'unknown' }
    if (!record.active) return { status: 'inactive' }
    return { status: 'active', record, key: await findKey(record.client, keyId, dependencies) }
  }
}

async function findKey(
  client: BoundClient,
  keyId: string,
  { clientDirectory, logger }: IntrospectTokenDependencies
): Promise<KeyWorth> {
  if (keyId.length > KEY_ID_LENGTH_MAX) return undefined
  try {
    const key = await findHolderKey(client, keyId === '' ? client.keyId : keyId, clientDirectory)
    return key && { kid: key.kid, x: key.x }
  } catch (error) {
    if (!(error instanceof DocumentUnavailable || error instanceof DirectoryBusy)) throw error
    logger.warn({ err: error, client: client.walletAddress }, 'the keys of a client cannot be fetched')
    return 'unavailable'
  }
}
