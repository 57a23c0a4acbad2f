import type { Pool } from 'pg'
import type { IssuedToken } from '../../domain/issued-token.js'

/** Writes rotations. */
export interface RotateTokenRepository {
  /**
   * Puts a new token in the place of an old one.
   *
   * @returns whether this call did it: false when the old one was rotated or revoked already, or its grant is over
   */
  rotate(oldTokenId: string, token: IssuedToken): Promise<boolean>
}

// One statement: of racing rotations, whoever ends the old token's row makes the new one.
const ROTATE = {
  name: 'rotate-token',
  text: `
with ended as (
  update access_token t set ended_at = $5, end_reason = 'rotated'
    from grant_request g
   where t.id = $1 and t.ended_at is null and g.id = t.grant_id and g.state = 'issued'
  returning t.grant_id)
insert into access_token (id, grant_id, value_hash, expires_at, created_at)
select $2::uuid, grant_id, $3, $4::timestamptz, $5::timestamptz from ended`
}

/** Writes to PostgreSQL. */
export function createRotateTokenRepository(pool: Pool): RotateTokenRepository {
  return {
    async rotate(oldTokenId, token) {
      const values = [oldTokenId, token.id, token.hash, token.expiresAt, token.createdAt]
      const { rowCount } = await pool.query({ ...ROTATE, values })
      return rowCount === 1
    }
  }
}
