import { RpcError, status, type UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import type { Clock } from '@open-payments-server/runtime'
import { toAccessItemMessage, toClientMessage } from '../../domain/messages.js'
import { cutPage, readPageToken } from '../../domain/page-token.js'
import { invalidField, readPageSize, readUrl, readUuid } from '../../domain/request-fields.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { GrantRepository, OperatedGrant } from './repository.js'

/** `GrantOperatorService.ListGrants`. */
export function createListGrantsRpc(
  repository: GrantRepository
): UnaryHandler<auth.ListGrantsRequest, auth.ListGrantsResponse> {
  return async (request) => {
    const pageSize = readPageSize(request.pageSize)
    const { identifier, clientWalletAddress, pageToken } = request
    const found = await repository.list({
      identifier: identifier === '' ? undefined : readUrl(identifier, 'identifier'),
      clientWalletAddress:
        clientWalletAddress === '' ? undefined : readUrl(clientWalletAddress, 'client_wallet_address'),
      state: readState(request.state),
      after: pageToken === '' ? undefined : readPageToken(pageToken),
      count: pageSize + 1
    })
    const { items, nextPageToken } = cutPage(found, pageSize, (grant) => grant)
    return { grants: items.map(toMessage), nextPageToken }
  }
}

/** What revoking a grant needs. */
export interface RevokeGrantDependencies {
  readonly repository: GrantRepository
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
}

/**
 * `GrantOperatorService.RevokeGrant`. When the revocation was recorded and the watchers could not be told, it ends with
 * UNAVAILABLE, and repeating it tells them.
 */
export function createRevokeGrantRpc(
  dependencies: RevokeGrantDependencies
): UnaryHandler<auth.RevokeGrantRequest, auth.RevokeGrantResponse> {
  const { repository, revocations, clock } = dependencies
  return async (request) => {
    const grantId = readUuid(request.grantId, 'grant_id')
    const grant = await repository.revoke(grantId, new Date(clock.now()))
    if (grant === undefined) {
      throw new RpcError({ code: status.NOT_FOUND, message: 'The grant is unknown', field: 'grant_id' })
    }
    try {
      await revocations.publish({ kind: 'grant', grantId })
    } catch (cause) {
      const message = 'The grant is revoked, but not every service could be told: repeat the call'
      throw new RpcError({ code: status.UNAVAILABLE, message, cause })
    }
    return { grant: toMessage(grant) }
  }
}

const STATES: Readonly<Record<OperatedGrant['state'], auth.GrantState>> = {
  pending: auth.GrantState.GRANT_STATE_PENDING,
  approved: auth.GrantState.GRANT_STATE_APPROVED,
  issued: auth.GrantState.GRANT_STATE_ISSUED,
  rejected: auth.GrantState.GRANT_STATE_REJECTED,
  revoked: auth.GrantState.GRANT_STATE_REVOKED
}

function readState(state: auth.GrantState): OperatedGrant['state'] | undefined {
  if (state === auth.GrantState.GRANT_STATE_UNSPECIFIED) return undefined
  const found = Object.entries(STATES).find(([, message]) => message === state)
  if (found === undefined) throw invalidField('state', 'must be a state of a grant')
  return found[0] as OperatedGrant['state'] // the keys of STATES are the states
}

function toMessage(grant: OperatedGrant): auth.Grant {
  return {
    grantId: grant.id,
    state: STATES[grant.state],
    client: toClientMessage({
      walletAddress: grant.clientWalletAddress,
      jwkThumbprint: grant.clientJwkThumbprint
    }),
    access: grant.access.map(toAccessItemMessage),
    createTime: grant.createdAt,
    updateTime: grant.updatedAt
  }
}
