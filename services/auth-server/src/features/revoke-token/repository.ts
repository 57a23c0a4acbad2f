import type { Pool } from 'pg'

/** Writes revocations of tokens. */
export interface RevokeTokenRepository {
  /** Ends a token. Changes nothing when it ended already. */
  revoke(tokenId: string, now: Date): Promise<void>
}

/** Writes to PostgreSQL. */
export function createRevokeTokenRepository(pool: Pool): RevokeTokenRepository {
  return {
    async revoke(tokenId, now) {
      // An update by hand, because Prisma's `updateMany` counts and its `update` fails on a token that ended.
      await pool.query(
        "update access_token set ended_at = $2, end_reason = 'revoked' where id = $1 and ended_at is null",
        [tokenId, now]
      )
    }
  }
}
