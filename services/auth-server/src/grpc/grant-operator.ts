import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import {
  cutPage,
  readInstant,
  readPageSize,
  readPageToken,
  readTextToken,
  writePageToken,
  writeTextToken
} from '@open-payments-server/service-kit/grpc'
import type { Acting } from '@open-payments-server/service-kit/operators'
import { toAccessItemMessage, toClientMessage } from './messages.js'
import { invalidCallField } from '../domain/call-refused.js'
import { readUrl, readUuid } from './request-fields.js'
import { CallRefused } from '../domain/call-refused.js'
import type { Queries } from '../modules/database.js'
import { type OperatedClient, readClientName } from '../domain/frozen-clients.js'
import { freezeClient, type FreezeClientDependencies } from '../features/freeze-client/freeze-client.js'
import { listFrozenClients } from '../modules/frozen-clients/index.js'
import type { RevokeGrantDependencies } from '../features/end-grant/end-grant.js'
import { revokeGrant } from '../features/end-grant/revoke-grant.js'
import { findConsentRecord } from '../modules/consent-records/index.js'
import { findActs, findGrant, listGrants, type OperatedGrant } from '../modules/grants/index.js'
import { findOperatedGrant } from '../features/allowed-grants.js'
import {
  ACTS_MAX,
  dateOf,
  type ShowAllowedGrantsDependencies,
  toActMessage,
  toItemMessage
} from './holder-grants.js'

/** `GrantOperatorService.ListGrants`. */
export function listGrantsRpc({
  database
}: {
  readonly database: Queries
}): UnaryHandler<auth.ListGrantsRequest, auth.ListGrantsResponse> {
  return async (request) => {
    const pageSize = readPageSize(request.pageSize)
    const { identifier, clientWalletAddress, pageToken } = request
    const found = await listGrants(database, {
      identifier: identifier === '' ? undefined : readUrl(identifier, 'identifier'),
      clientWalletAddress:
        clientWalletAddress === '' ? undefined : readUrl(clientWalletAddress, 'client_wallet_address'),
      state: readState(request.state),
      after: readPageToken(pageToken),
      count: pageSize + 1
    })
    const { items, nextPageToken } = cutPage(found, pageSize, writePageToken)
    return { grants: items.map(toGrantMessage), nextPageToken }
  }
}

/** `GrantOperatorService.RevokeGrant`. */
export function revokeGrantRpc(
  dependencies: RevokeGrantDependencies & Acting
): UnaryHandler<auth.RevokeGrantRequest, auth.RevokeGrantResponse> {
  return async (request) => {
    const grant = await revokeGrant(readUuid(request.grantId, 'grant_id'), dependencies)
    if (grant === undefined) {
      throw new CallRefused('not-found', 'The grant is unknown', { field: 'grant_id' })
    }
    return { grant: toGrantMessage(grant) }
  }
}

/** `GrantOperatorService.GetGrant`. */
export function getGrantRpc({
  database,
  clock
}: ShowAllowedGrantsDependencies): UnaryHandler<auth.GetGrantRequest, auth.GetGrantResponse> {
  return async (request) => {
    const grantId = readUuid(request.grantId, 'grant_id')
    const [grant, shown, record, acts] = await Promise.all([
      findGrant(database, grantId),
      findOperatedGrant(database, grantId, clock.now()),
      findConsentRecord(database, grantId),
      findActs(database, grantId, ACTS_MAX)
    ])
    if (grant === undefined || shown === undefined)
      throw new CallRefused('not-found', 'The grant is unknown', { field: 'grant_id' })
    return {
      grant: toGrantMessage(grant),
      clientName: shown.clientName ?? '',
      access: shown.access.map(toItemMessage),
      walletAddress: shown.walletAddress,
      consentedBy: record && { issuer: record.issuer, sub: record.sub },
      lastUseTime: dateOf(shown.lastUsedAtMs),
      endTime: dateOf(shown.endedAtMs),
      pauseTime: dateOf(shown.pausedAtMs),
      paymentEndTime: dateOf(shown.payableUntilMs),
      acts: acts.map(toActMessage)
    }
  }
}

/** `GrantOperatorService.GetConsentRecord`. */
export function getConsentRecordRpc({
  database
}: {
  readonly database: Queries
}): UnaryHandler<auth.GetConsentRecordRequest, auth.GetConsentRecordResponse> {
  return async (request) => {
    const grantId = readUuid(request.grantId, 'grant_id')
    const found = await findConsentRecord(database, grantId)
    if (found === undefined)
      throw new CallRefused('not-found', 'There is no consent record of this grant', { field: 'grant_id' })
    const { documentHash, acr = '', amr, authTimeMs, createdAtMs, ...texts } = found
    const consentRecord = {
      ...texts,
      grantId,
      documentHash,
      acr,
      amr: [...amr],
      authTime: authTimeMs === undefined ? undefined : new Date(authTimeMs),
      createTime: new Date(createdAtMs)
    }
    return { consentRecord }
  }
}

/**
 * `GrantOperatorService.FreezeClient` and `UnfreezeClient`.
 *
 * @param freezes which of the two
 */
export function freezeClientRpc(
  freezes: boolean,
  dependencies: FreezeClientDependencies & Acting
): UnaryHandler<auth.UnfreezeClientRequest, auth.FreezeClientResponse> {
  return async ({ client, reason, freezeTime }, { clientNames }) => {
    const sinceMs = readInstant(freezeTime, 'freeze_time')
    const order = { freezes, client, reason, sinceMs, clientNames }
    return { client: toOperatedMessage(await freezeClient(order, dependencies)) }
  }
}

/** `GrantOperatorService.ListFrozenClients`. */
export function listFrozenClientsRpc({
  database
}: {
  readonly database: Queries
}): UnaryHandler<auth.ListFrozenClientsRequest, auth.ListFrozenClientsResponse> {
  return async ({ client, pageSize: size, pageToken }) => {
    const pageSize = readPageSize(size)
    const after = readTextToken(pageToken)
    const found = await listFrozenClients(database, { client, after, limit: pageSize + 1 })
    const { items, nextPageToken } = cutPage(found, pageSize, ({ client }) => writeTextToken(client))
    return { clients: items.map(toOperatedMessage), nextPageToken }
  }
}

/** A client on the wire, as operators see it. */
export function toOperatedMessage({ client, freeze }: OperatedClient): auth.OperatedClient {
  return {
    client: toClientMessage(readClientName(client)),
    frozen: freeze !== undefined,
    freezeTime: freeze && new Date(freeze.sinceMs),
    frozenBy: freeze?.by ?? '',
    reason: freeze?.reason ?? ''
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
  if (found === undefined) throw invalidCallField('state', 'must be a state of a grant')
  return found[0] as OperatedGrant['state'] // the keys of STATES are the states
}

/** A grant on the wire. */
export function toGrantMessage(grant: OperatedGrant): auth.Grant {
  return {
    grantId: grant.id,
    state: STATES[grant.state],
    client: toClientMessage({
      walletAddress: grant.clientWalletAddress,
      jwkThumbprint: grant.clientJwkThumbprint
    }),
    access: grant.access.map(toAccessItemMessage),
    createTime: new Date(grant.createdAtMs),
    updateTime: new Date(grant.updatedAtMs)
  }
}
