import type { Pool } from 'pg'

/** Writes revocations of tokens. */
export interface RevokeTokenRepository {
  /**
   * Ends a token. Changes nothing when it ended already.
   *
   * @returns false when there is no such token, or not any more
   */
  revoke(tokenId: string, now: Date): Promise<boolean>
}

// By hand, because Prisma's `updateMany` counts and its `update` fails on a token that ended.
const REVOKE = `
with ended as (
  update access_token set ended_at = $2, end_reason = 'revoked' where id = $1 and ended_at is null)
select from access_token where id = $1`

/** Writes to PostgreSQL. */
export function createRevokeTokenRepository(pool: Pool): RevokeTokenRepository {
  return {
    async revoke(tokenId, now) {
      const { rowCount } = await pool.query(REVOKE, [tokenId, now])
      return rowCount === 1
    }
  }
}
