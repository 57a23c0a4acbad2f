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

// One statement, prepared: a grant with its items and its token or interaction is the write that clients wait for most
// often, and is whole or absent without a transaction's round trips.
const INSERT_GRANT = {
  name: 'request-grant',
  text: `
with new_grant as (
  insert into grant_request (
    id, state, client_wallet_address, client_jwk_thumbprint, client_name, key_id, key_x, continuation_token_hash,
    continue_after, finish_uri, finish_nonce, finish_hash_method, subject, created_at, updated_at, alive_until)
  values ($1::uuid, $2::grant_state, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::jsonb, $14, $14, $19)
), new_items as (
  insert into access_item (
    id, grant_id, position, type, actions, identifier, limit_receiver, limit_interval,
    limit_debit_value, limit_debit_code, limit_debit_scale,
    limit_receive_value, limit_receive_code, limit_receive_scale)
  select
    id, $1::uuid, position, type, actions, identifier, "limitReceiver", "limitInterval",
    "limitDebitValue", "limitDebitCode", "limitDebitScale",
    "limitReceiveValue", "limitReceiveCode", "limitReceiveScale"
  from jsonb_to_recordset($15::jsonb) as item (
    id uuid, position smallint, type text, actions text[], identifier text, "limitReceiver" text, "limitInterval" text,
    "limitDebitValue" numeric, "limitDebitCode" text, "limitDebitScale" smallint,
    "limitReceiveValue" numeric, "limitReceiveCode" text, "limitReceiveScale" smallint)
), new_interaction as (
  insert into interaction (id, grant_id, nonce, reference, state, expires_at)
  select $16::uuid, $1::uuid, $17, $18, 'PENDING', $19::timestamptz
  where $16::uuid is not null
)
insert into access_token (id, grant_id, value_hash, expires_at, created_at)
select $20::uuid, $1::uuid, $21, $19::timestamptz, $14
where $20::uuid is not null`
}

/** Writes grants to PostgreSQL. */
export function createGrantRepository(pool: Pool): GrantRepository {
  return {
    async insert(grant) {
      const { beginning, holder } = grant
      const interaction = beginning.state === 'pending' ? beginning : undefined
      const token = beginning.state === 'issued' ? beginning.token : undefined
      const items = grant.access.map((item, position) => ({
        id: item.id,
        position,
        ...storeAccessItem(item)
      }))
      await pool.query({
        ...INSERT_GRANT,
        values: [
          grant.id,
          beginning.state,
          holder.walletAddress,
          holder.jwkThumbprint,
          grant.clientName,
          holder.keyId,
          holder.keyX,
          grant.continuationTokenHash,
          interaction?.continueAfter,
          interaction?.finish?.uri,
          interaction?.finish?.nonce,
          interaction?.finish?.hash_method,
          grant.subject === undefined ? null : JSON.stringify(grant.subject),
          grant.createdAt,
          JSON.stringify(items),
          interaction?.interactionId,
          interaction?.nonce,
          interaction?.reference,
          (token ?? interaction)?.expiresAt,
          token?.id,
          token?.hash
        ]
      })
    }
  }
}
