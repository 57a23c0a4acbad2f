import { writeTogether } from '@open-payments-server/database'
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

// One statement for all that arrive together: of racing rotations, whoever ends the old token's row makes the new one. The rows
// are locked in the order of their ids, so that two statements never wait for each other.
const ROTATE = `
with wanted as (
  select * from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::timestamptz[], $5::timestamptz[])
    as w (old_id, id, value_hash, expires_at, created_at)
), locked as (
  select t.id from access_token t where t.id = any($1) order by t.id for update
), ended as (
  update access_token t set ended_at = w.created_at, end_reason = 'rotated'
    from wanted w, locked, grant_request g
   where t.id = w.old_id and t.id = locked.id and t.ended_at is null and g.id = t.grant_id and g.state = 'issued'
  returning t.grant_id, w.id, w.value_hash, w.expires_at, w.created_at
)
insert into access_token (id, grant_id, value_hash, expires_at, created_at)
select id, grant_id, value_hash, expires_at, created_at from ended
returning id`

/** A rotation to be written. */
interface Rotation {
  readonly oldTokenId: string
  readonly token: IssuedToken
}

/** Writes to PostgreSQL. */
export function createRotateTokenRepository(pool: Pool): RotateTokenRepository {
  const write = writeTogether(async (rotations: readonly Rotation[]) => {
    const column = (read: (token: IssuedToken) => unknown): unknown[] =>
      rotations.map(({ token }) => read(token))
    const { rows } = await pool.query<{ id: string }>({
      name: 'rotate-tokens',
      text: ROTATE,
      values: [
        rotations.map(({ oldTokenId }) => oldTokenId),
        column(({ id }) => id),
        column(({ hash }) => hash),
        column(({ expiresAt }) => expiresAt),
        column(({ createdAt }) => createdAt)
      ]
    })
    const made = new Set(rows.map(({ id }) => id))
    return rotations.map(({ token }) => made.has(token.id))
  })
  return { rotate: (oldTokenId, token) => write({ oldTokenId, token }) }
}
