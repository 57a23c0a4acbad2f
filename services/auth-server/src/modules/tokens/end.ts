import { Prisma, type Queries } from '../database.js'
import { isThere } from './rotate.js'

/** Revokes the tokens of `ended_grant (grant_id, ended_at)`. */
export const endedTokens = Prisma.sql`
  ended_token as (
    update access_token t set ended_at = e.ended_at, end_reason = 'revoked'
      from ended_grant e where t.grant_id = e.grant_id and t.ended_at is null)`

/**
 * Revokes a token. Changes nothing if it already ended.
 *
 * @param tokenId its management id (UUID)
 * @returns false when the token does not exist, or no longer exists
 */
export async function revokeToken(on: Queries, tokenId: string, nowMs: number): Promise<boolean> {
  const { count } = await on.accessToken.updateMany({
    where: { id: tokenId, endedAt: null },
    data: { endedAt: new Date(nowMs), endReason: 'revoked' }
  })
  return count === 1 || isThere(on, tokenId)
}
