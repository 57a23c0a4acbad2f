import { bytesText, instantText, placeholder } from '@open-payments-server/database'
import type { NewToken } from '../../domain/new-token.js'
import { Prisma } from '../database.js'

/** A token to be written, and the id of its grant. */
export type NewTokenRow = Pick<NewToken, 'id' | 'hash' | 'createdAtMs' | 'expiresAtMs'> & {
  readonly grantId: string
}

/**
 * Writes the tokens of {@link newTokenValues}.
 *
 * @param where which of them: by `"grantId"`
 */
export function insertedTokens(where: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  inserted_token as (
    insert into access_token (id, grant_id, value_hash, expires_at, created_at)
    select id, "grantId", "valueHash", "expiresAt", "createdAt"
      from jsonb_to_recordset(${placeholder('tokens')}::jsonb) as new (
        id uuid, "grantId" uuid, "valueHash" bytea, "expiresAt" timestamptz, "createdAt" timestamptz)
    ${where})`
}

/** The value of {@link insertedTokens}. */
export function newTokenValues(tokens: readonly NewTokenRow[]): { readonly tokens: string } {
  return { tokens: JSON.stringify(tokens.map(toRecord)) }
}

function toRecord({ id, grantId, hash, createdAtMs, expiresAtMs }: NewTokenRow): object {
  return {
    id,
    grantId,
    valueHash: bytesText(hash),
    createdAt: instantText(createdAtMs),
    expiresAt: instantText(expiresAtMs)
  }
}
