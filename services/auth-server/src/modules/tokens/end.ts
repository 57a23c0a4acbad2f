import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import { GRANT_CHANGE, GRANT_ID, GRANTS } from '../grants/index.js'
import { isThere } from './rotate.js'

/** Revokes the tokens of `ended_grant (grant_id, changed_at)`. */
export const endedTokens = Prisma.sql`
  ended_token as (
    update access_token t set ended_at = e.changed_at, end_reason = 'revoked'
      from ended_grant e where t.grant_id = e.grant_id and t.ended_at is null
    returning t.id)`

/** One statement, with the event of it: Prisma's models cannot compose. */
const REVOKE = new Statement(
  'revoke-token',
  Prisma.sql`
  with ended as (
    update access_token t set ended_at = ${placeholder('now')}::timestamptz, end_reason = 'revoked'
      from ${GRANTS}
     where t.id = ${placeholder('tokenId')}::uuid and t.ended_at is null and ${GRANT_ID} = t.grant_id
    returning t.grant_id, t.ended_at, ${GRANT_CHANGE} as change
  ), ${appended(Prisma.sql`
  select 'token.revoked' as type, grant_id as subject_id, change, ended_at as occurred_at from ended`)}
  select grant_id from ended`,
  { prepared: false }
)

/**
 * Revokes a token. Changes nothing if it already ended.
 *
 * @param tokenId its management id (UUID)
 * @returns false when the token does not exist, or no longer exists
 */
export async function revokeToken(on: Queries, tokenId: string, nowMs: number): Promise<boolean> {
  const ended = await REVOKE.rows(on, { tokenId, now: instantText(nowMs) })
  return ended.length === 1 || isThere(on, tokenId)
}
