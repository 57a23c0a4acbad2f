import { Prisma, type Queries } from '../database.js'
import { isThere } from './rotate.js'

/** Revokes the tokens of `ended_grant (grant_id, ended_at)`. */
export const endedTokens = Prisma.sql`
  ended_token as (
    update access_token t set ended_at = e.ended_at, end_reason = 'revoked'
      from ended_grant e where t.grant_id = e.grant_id and t.ended_at is null)`

/**
 * Revokes a token. Changes nothing when it ended already.
 *
 * @param tokenId its management id (UUID)
 * @returns false when there is no such token, or not any more
 */
export async function revokeToken(on: Queries, tokenId: string, now: Date): Promise<boolean> {
  const { count } = await on.accessToken.updateMany({
    where: { id: tokenId, endedAt: null },
    data: { endedAt: now, endReason: 'revoked' }
  })
  return count === 1 || isThere(on, tokenId)
}
