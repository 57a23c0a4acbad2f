import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { toAccessItemMessage, toClientMessage } from '../../domain/messages.js'
import { readAccessToken } from '../../domain/request-fields.js'
import type { IntrospectToken, TokenWorth } from './service.js'

/** `IntrospectionService.Introspect`. */
export function createIntrospectRpc(
  introspectToken: IntrospectToken
): UnaryHandler<auth.IntrospectRequest, auth.IntrospectResponse> {
  return async ({ accessToken, keyId }) =>
    toResponse(await introspectToken(readAccessToken(accessToken), keyId))
}

function toResponse(worth: TokenWorth): auth.IntrospectResponse {
  switch (worth.status) {
    case 'unknown':
      return auth.IntrospectResponse.create({ status: auth.TokenStatus.TOKEN_STATUS_UNKNOWN })
    case 'inactive':
      return auth.IntrospectResponse.create({ status: auth.TokenStatus.TOKEN_STATUS_INACTIVE })
    case 'active': {
      const { client, access, expiresAt } = worth.record
      const key = worth.key === 'unavailable' ? undefined : worth.key
      return {
        status: auth.TokenStatus.TOKEN_STATUS_ACTIVE,
        grantId: access.grantId,
        client: toClientMessage(client),
        key,
        keyUnavailable: worth.key === 'unavailable',
        access: access.items.map(toAccessItemMessage),
        expireTime: expiresAt
      }
    }
  }
}
