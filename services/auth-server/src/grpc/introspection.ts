import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { toAccessItemMessage, toClientMessage } from './messages.js'
import type { TokenAccess } from '../domain/token-record.js'
import { readAccessToken } from './request-fields.js'
import {
  introspectToken,
  type IntrospectTokenDependencies,
  type TokenWorth
} from '../features/introspect-token/introspect-token.js'

/** `IntrospectionService.Introspect`. */
export function introspectRpc(
  dependencies: IntrospectTokenDependencies
): UnaryHandler<auth.IntrospectRequest, auth.IntrospectResponse> {
  return async ({ accessToken, keyId }) =>
    toResponse(await introspectToken({ accessToken: readAccessToken(accessToken), keyId }, dependencies))
}

/** Cached wire forms of the access of tokens: built once, and kept as long as the tokens. */
const messagesOf = new WeakMap<TokenAccess, auth.AccessItem[]>()

function accessMessages(access: TokenAccess): auth.AccessItem[] {
  const made = messagesOf.get(access) ?? access.items.map(toAccessItemMessage)
  messagesOf.set(access, made)
  return made
}

function toResponse(worth: TokenWorth): auth.IntrospectResponse {
  switch (worth.status) {
    case 'unknown':
      return auth.IntrospectResponse.create({ status: auth.TokenStatus.TOKEN_STATUS_UNKNOWN })
    case 'inactive':
      return auth.IntrospectResponse.create({ status: auth.TokenStatus.TOKEN_STATUS_INACTIVE })
    case 'active': {
      const { client, access, holdsUntilMs, consentedWalletAddress, clientFrozen, grantPaused } = worth.record
      const key = worth.key === 'unavailable' ? undefined : worth.key
      return {
        status: auth.TokenStatus.TOKEN_STATUS_ACTIVE,
        grantId: access.grantId,
        client: toClientMessage(client),
        key,
        keyUnavailable: worth.key === 'unavailable',
        access: accessMessages(access),
        expireTime: new Date(holdsUntilMs),
        consentedWalletAddress: consentedWalletAddress ?? '',
        clientFrozen,
        grantPaused
      }
    }
  }
}
