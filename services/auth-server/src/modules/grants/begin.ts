import { bytesText, instantText, placeholder } from '@open-payments-server/database'
import type { AccessItem } from '../../domain/access.js'
import type { BoundClient } from '../../domain/clients.js'
import type { GrantState, SubjectRequest } from '../../domain/grants.js'
import type { FinishRequest } from '../../domain/interactions.js'
import { Prisma } from '../database.js'
import { isFrozenClient } from '../frozen-clients/index.js'
import { storeAccessItem } from './access-items.js'

/** A grant to be written. Times are instants of the service's clock. */
export interface NewGrant {
  readonly id: string
  readonly state: Extract<GrantState, 'issued' | 'pending'>
  readonly holder: BoundClient
  /** The client's name that account holders are shown; undefined when no consent is needed. */
  readonly clientName?: string | undefined
  /** SHA-256 of its continuation token. */
  readonly continuationTokenHash: Buffer
  readonly access: readonly (AccessItem & { readonly id: string })[]
  readonly subject: SubjectRequest | undefined
  readonly finish?: FinishRequest | undefined
  readonly createdAtMs: number
  /** Time before which it must not be continued; undefined when there is none. */
  readonly continueAfterMs?: number | undefined
  /** The purge does not look at it before this instant. */
  readonly aliveUntilMs: number
}

/**
 * Writes the grants and access items of {@link newGrantValues}, but none of a frozen client. Returns `inserted_grant (id, state,
 * created_at)`.
 */
export const insertedGrants = Prisma.sql`
  inserted_grant as (
    insert into grant_request (
      id, state, client_wallet_address, client_jwk_thumbprint, client_name, key_id, key_x, continuation_token_hash,
      continue_after, finish_uri, finish_nonce, finish_hash_method, subject, created_at, updated_at, alive_until)
    select
      id, state, "clientWalletAddress", "clientJwkThumbprint", "clientName", "keyId", "keyX", "continuationTokenHash",
      "continueAfter", "finishUri", "finishNonce", "finishHashMethod", subject, "createdAt", "createdAt", "aliveUntil"
    from jsonb_to_recordset(${placeholder('grants')}::jsonb) as new (
      id uuid, state grant_state, "clientWalletAddress" text, "clientJwkThumbprint" text, "clientName" text, "keyId" text,
      "keyX" text, "continuationTokenHash" bytea, "continueAfter" timestamptz, "finishUri" text, "finishNonce" text,
      "finishHashMethod" text, subject jsonb, "createdAt" timestamptz, "aliveUntil" timestamptz)
    where not ${isFrozenClient(Prisma.sql`coalesce(new."clientWalletAddress", 'jwk:' || new."clientJwkThumbprint")`)}
    returning id, state, created_at),
  inserted_access_item as (
    insert into access_item (
      id, grant_id, position, type, actions, identifier, limit_receiver, limit_interval,
      limit_debit_value, limit_debit_code, limit_debit_scale,
      limit_receive_value, limit_receive_code, limit_receive_scale)
    select
      id, "grantId", position, type, actions, identifier, "limitReceiver", "limitInterval",
      "limitDebitValue", "limitDebitCode", "limitDebitScale",
      "limitReceiveValue", "limitReceiveCode", "limitReceiveScale"
    from jsonb_to_recordset(${placeholder('accessItems')}::jsonb) as item (
      id uuid, "grantId" uuid, position smallint, type text, actions text[], identifier text, "limitReceiver" text,
      "limitInterval" text, "limitDebitValue" numeric, "limitDebitCode" text, "limitDebitScale" smallint,
      "limitReceiveValue" numeric, "limitReceiveCode" text, "limitReceiveScale" smallint)
    where "grantId" in (select id from inserted_grant))`

/** The values of {@link insertedGrants}. */
export function newGrantValues(grants: readonly NewGrant[]): {
  readonly grants: string
  readonly accessItems: string
} {
  return {
    grants: JSON.stringify(grants.map(toGrantRecord)),
    accessItems: JSON.stringify(grants.flatMap(toItemRecords))
  }
}

function toGrantRecord(grant: NewGrant): object {
  const { holder, finish } = grant
  return {
    id: grant.id,
    state: grant.state,
    clientWalletAddress: holder.walletAddress,
    clientJwkThumbprint: holder.jwkThumbprint,
    clientName: grant.clientName,
    keyId: holder.keyId,
    keyX: holder.keyX,
    continuationTokenHash: bytesText(grant.continuationTokenHash),
    continueAfter: grant.continueAfterMs === undefined ? undefined : instantText(grant.continueAfterMs),
    finishUri: finish?.uri,
    finishNonce: finish?.nonce,
    finishHashMethod: finish?.hashMethod,
    subject: grant.subject,
    createdAt: instantText(grant.createdAtMs),
    aliveUntil: instantText(grant.aliveUntilMs)
  }
}

function toItemRecords({ id: grantId, access }: NewGrant): object[] {
  return access.map((item, position) => ({ id: item.id, grantId, position, ...storeAccessItem(item) }))
}
