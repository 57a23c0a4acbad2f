import { KEY_ID_LENGTH_MAX } from '@open-payments-server/http-signatures'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import {
  type BoundClient,
  type ClientDirectory,
  DirectoryBusy,
  DocumentUnavailable,
  findHolderKey,
  type PublicKey
} from '../../domain/clients.js'
import type { RpcCounters } from '../../domain/counters.js'
import type { TokenRecord } from '../../domain/token-record.js'
import type { TokenReader } from '../../modules/tokens/index.js'

/** The result of an introspection (RFC 9767 §3.3). */
export type TokenWorth =
  /** It was not issued here. */
  | { readonly status: 'unknown' }
  /** It is expired, rotated or revoked, or its grant has ended. */
  | { readonly status: 'inactive' }
  | {
      readonly status: 'active'
      readonly record: TokenRecord
      readonly key: KeyWorth
    }

/**
 * Key that the request must be signed with; undefined when the client has no current key with that id, `unavailable` when
 * its keys cannot be fetched now.
 */
export type KeyWorth = PublicKey | 'unavailable' | undefined

/** A token to be introspected. */
export interface PresentedToken {
  /** Its value, as the client sent it. */
  readonly accessToken: string
  /** `keyid` of the signature that came with it; empty for that of the key that requested the grant. */
  readonly keyId: string
}

/** What introspection needs. */
export interface IntrospectTokenDependencies {
  readonly tokens: Pick<TokenReader, 'findToken'>
  readonly directory: Pick<ClientDirectory, 'findKey'>
  readonly clock: Clock
  readonly logger: Logger
  readonly counters: Pick<RpcCounters, 'countIntrospection'>
}

/** Introspects a token. */
export async function introspectToken(
  presented: PresentedToken,
  dependencies: IntrospectTokenDependencies
): Promise<TokenWorth> {
  const worth = await findWorth(presented, dependencies)
  const isKeyUnavailable = worth.status === 'active' && worth.key === 'unavailable'
  dependencies.counters.countIntrospection(isKeyUnavailable ? 'key-unavailable' : worth.status)
  return worth
}

async function findWorth(
  { accessToken, keyId }: PresentedToken,
  dependencies: IntrospectTokenDependencies
): Promise<TokenWorth> {
  const { tokens, clock } = dependencies
  const record = await tokens.findToken(hashSecret(accessToken), clock.now())
  if (record === undefined) return { status: 'unknown' }
  if (!record.active) return { status: 'inactive' }
  return { status: 'active', record, key: await findKey(record.client, keyId, dependencies) }
}

async function findKey(
  client: BoundClient,
  keyId: string,
  { directory, logger }: IntrospectTokenDependencies
): Promise<KeyWorth> {
  if (keyId.length > KEY_ID_LENGTH_MAX) return undefined
  try {
    const key = await findHolderKey(client, keyId === '' ? client.keyId : keyId, directory)
    return key && { kid: key.kid, x: key.x }
  } catch (error) {
    if (!(error instanceof DocumentUnavailable || error instanceof DirectoryBusy)) throw error
    logger.warn({ err: error, client: client.walletAddress }, 'the keys of a client cannot be fetched')
    return 'unavailable'
  }
}
