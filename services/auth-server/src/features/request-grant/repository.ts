import { writeTogether } from '@open-payments-server/database'
import type { Pool } from 'pg'
import { type AccessItem, storeAccessItem } from '../../domain/access.js'
import type { BoundClient } from '../../domain/clients.js'
import type { SubjectRequest } from '../../domain/grants.js'
import type { IssuedToken } from '../../domain/issued-token.js'

/** A grant to be written. Times are instants of the service's clock. */
export interface NewGrant {
  readonly id: string
  readonly holder: BoundClient
  readonly clientName: string | undefined
  readonly continuationTokenHash: Buffer
  readonly access: readonly (AccessItem & { readonly id: string })[]
  readonly subject: SubjectRequest | undefined
  readonly createdAt: Date
  /** What it begins with: a token at once, or an interaction with the account holder. */
  readonly beginning: { readonly state: 'issued'; readonly token: IssuedToken } | PendingInteraction
}

/** An interaction that decides the grant. */
export interface PendingInteraction {
  readonly state: 'pending'
  readonly interactionId: string
  /** URL of the wallet address whose account holder is asked. */
  readonly walletAddress: string
  readonly nonce: string
  readonly reference: string
  readonly expiresAt: Date
  readonly continueAfter: Date
  readonly finish:
    { readonly uri: string; readonly nonce: string; readonly hash_method?: string | undefined } | undefined
}

/** Writes grants. */
export interface GrantRepository {
  /** Writes a grant with everything that belongs to it, or nothing. */
  insert(grant: NewGrant): Promise<void>
}

// One statement, prepared, for all grants that are asked for at the same time: a grant with its items and its token or
// interaction is the write that clients wait for most often, and is whole or absent without a transaction's round trips.
const INSERT_GRANTS = `
with new_grants as (
  insert into grant_request (
    id, state, client_wallet_address, client_jwk_thumbprint, client_name, key_id, key_x, continuation_token_hash,
    continue_after, finish_uri, finish_nonce, finish_hash_method, subject, created_at, updated_at, alive_until)
  select
    id, state, "clientWalletAddress", "clientJwkThumbprint", "clientName", "keyId", "keyX", "continuationTokenHash",
    "continueAfter", "finishUri", "finishNonce", "finishHashMethod", subject, "createdAt", "createdAt", "aliveUntil"
  from jsonb_to_recordset($1::jsonb) as new (
    id uuid, state grant_state, "clientWalletAddress" text, "clientJwkThumbprint" text, "clientName" text, "keyId" text,
    "keyX" text, "continuationTokenHash" bytea, "continueAfter" timestamptz, "finishUri" text, "finishNonce" text,
    "finishHashMethod" text, subject jsonb, "createdAt" timestamptz, "aliveUntil" timestamptz)
), new_items as (
  insert into access_item (
    id, grant_id, position, type, actions, identifier, limit_receiver, limit_interval,
    limit_debit_value, limit_debit_code, limit_debit_scale,
    limit_receive_value, limit_receive_code, limit_receive_scale)
  select
    id, "grantId", position, type, actions, identifier, "limitReceiver", "limitInterval",
    "limitDebitValue", "limitDebitCode", "limitDebitScale",
    "limitReceiveValue", "limitReceiveCode", "limitReceiveScale"
  from jsonb_to_recordset($2::jsonb) as item (
    id uuid, "grantId" uuid, position smallint, type text, actions text[], identifier text, "limitReceiver" text,
    "limitInterval" text, "limitDebitValue" numeric, "limitDebitCode" text, "limitDebitScale" smallint,
    "limitReceiveValue" numeric, "limitReceiveCode" text, "limitReceiveScale" smallint)
), new_interactions as (
  insert into interaction (id, grant_id, wallet_address, nonce, reference, state, expires_at)
  select id, "grantId", "walletAddress", nonce, reference, 'PENDING', "expiresAt"
  from jsonb_to_recordset($3::jsonb) as new (
    id uuid, "grantId" uuid, "walletAddress" text, nonce text, reference text, "expiresAt" timestamptz)
)
insert into access_token (id, grant_id, value_hash, expires_at, created_at)
select id, "grantId", "valueHash", "expiresAt", "createdAt"
from jsonb_to_recordset($4::jsonb) as new (
  id uuid, "grantId" uuid, "valueHash" bytea, "expiresAt" timestamptz, "createdAt" timestamptz)`

/** Writes grants to PostgreSQL. */
export function createGrantRepository(pool: Pool): GrantRepository {
  return {
    insert: writeTogether(async (grants) => {
      await pool.query({
        name: 'request-grants',
        text: INSERT_GRANTS,
        values: [
          grants.map(toGrantRecord),
          grants.flatMap(toItemRecords),
          grants.flatMap(toInteractionRecords),
          grants.flatMap(toTokenRecords)
        ].map((records) => JSON.stringify(records))
      })
      return grants.map(() => undefined)
    })
  }
}

// The records of {@link INSERT_GRANTS}, `$1` to `$4`.

function toGrantRecord(grant: NewGrant): object {
  const { beginning, holder } = grant
  const interaction = beginning.state === 'pending' ? beginning : undefined
  return {
    id: grant.id,
    state: beginning.state,
    clientWalletAddress: holder.walletAddress,
    clientJwkThumbprint: holder.jwkThumbprint,
    clientName: grant.clientName,
    keyId: holder.keyId,
    keyX: holder.keyX,
    continuationTokenHash: toByteaText(grant.continuationTokenHash),
    continueAfter: interaction?.continueAfter,
    finishUri: interaction?.finish?.uri,
    finishNonce: interaction?.finish?.nonce,
    finishHashMethod: interaction?.finish?.hash_method,
    subject: grant.subject,
    createdAt: grant.createdAt,
    aliveUntil: beginning.state === 'issued' ? beginning.token.expiresAt : beginning.expiresAt
  }
}

function toItemRecords({ id: grantId, access }: NewGrant): object[] {
  return access.map((item, position) => ({ id: item.id, grantId, position, ...storeAccessItem(item) }))
}

function toInteractionRecords({ id: grantId, beginning }: NewGrant): object[] {
  if (beginning.state === 'issued') return []
  const { interactionId, walletAddress, nonce, reference, expiresAt } = beginning
  return [{ id: interactionId, grantId, walletAddress, nonce, reference, expiresAt }]
}

function toTokenRecords({ id: grantId, beginning, createdAt }: NewGrant): object[] {
  if (beginning.state === 'pending') return []
  const { id, hash, expiresAt } = beginning.token
  return [{ id, grantId, valueHash: toByteaText(hash), expiresAt, createdAt }]
}

/** Bytes as text, as PostgreSQL reads them. */
function toByteaText(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`
}
