import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { nameClient } from '../../domain/authorization.js'
import type { ActiveToken, Introspection, TokenStatus } from '../../domain/ports.js'
import { failureOf } from './messages.js'

/** Introspection over gRPC. */
export function createIntrospection(client: auth.IntrospectionServiceClient): Introspection {
  return {
    async introspect(accessToken, keyId) {
      const request = { accessToken, keyId: keyId ?? '' }
      try {
        return fromResponse(await callUnary(client, 'introspect', request, { idempotent: true }))
      } catch (error) {
        throw failureOf(error)
      }
    }
  }
}

function fromResponse(response: auth.IntrospectResponse): TokenStatus {
  switch (response.status) {
    case auth.TokenStatus.TOKEN_STATUS_ACTIVE:
      return fromActive(response)
    case auth.TokenStatus.TOKEN_STATUS_INACTIVE:
      return { status: 'inactive' }
    case auth.TokenStatus.TOKEN_STATUS_UNKNOWN:
      return { status: 'unknown' }
    default:
      throw new Error(`the auth server answered with the unknown token status ${String(response.status)}`)
  }
}

function fromActive(response: auth.IntrospectResponse): TokenStatus {
  const { client, expireTime } = response
  if (client === undefined || expireTime === undefined) {
    throw new Error('the auth server told of an active token without its client or expiry')
  }
  return {
    status: 'active',
    grantId: response.grantId,
    client: nameClient(client),
    key: keyOf(response),
    access: response.access.map((item) => ({
      type: item.type,
      actions: item.actions,
      identifier: item.identifier === '' ? undefined : item.identifier
    })),
    expiresAtMs: expireTime.getTime(),
    consentedWalletAddress:
      response.consentedWalletAddress === '' ? undefined : response.consentedWalletAddress,
    clientFrozen: response.clientFrozen,
    grantPaused: response.grantPaused
  }
}

function keyOf({ key, keyUnavailable }: auth.IntrospectResponse): ActiveToken['key'] {
  if (keyUnavailable) return 'unavailable'
  return key && { kid: key.kid, x: key.x }
}
