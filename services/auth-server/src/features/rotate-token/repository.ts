import { writeTogether } from '@open-payments-server/database'
import type { Pool } from 'pg'
import {
  type AccessItem,
  restoreAccessItem,
  selectAccess,
  type StoredAccessItem
} from '../../domain/access.js'
import type { IssuedToken } from '../../domain/issued-token.js'

/** What became of a rotation: what the new token allows, or why there is none. */
export type Rotation =
  | { readonly outcome: 'rotated'; readonly access: readonly AccessItem[] }
  /** The old one was rotated or revoked already, or its grant is over. */
  | { readonly outcome: 'over' }
  /** There is no such token, or not any more. */
  | { readonly outcome: 'unknown' }

/** Writes rotations. */
export interface RotateTokenRepository {
  /** Puts a new token in the place of an old one. */
  rotate(oldTokenId: string, token: IssuedToken): Promise<Rotation>
}

// One statement for all that arrive together. Of racing rotations, whoever ends the old token's row makes the new one. Nothing of
// a token is trusted from memory here: whether it, and its grant, still live is decided where it is ended. Rows are locked in the
// order of ids before the first is changed, so that two statements do not wait for each other. A token that lives has no reason
// why it ended, nor an instant when; the reason is asked for because no plan goes by an index of it, and reads all that live.
const ROTATE = `
with living as (
  select id from access_token where id = any ($1) and end_reason is null order by id for no key update
), ended as (
  update access_token t set ended_at = w.created_at, end_reason = 'rotated'
    from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::timestamptz[], $5::timestamptz[])
           as w (old_id, id, value_hash, expires_at, created_at), grant_request g
   where t.id = w.old_id and t.id = any (array(select id from living)) and g.id = t.grant_id and g.state = 'issued'
  returning t.grant_id, w.id, w.value_hash, w.expires_at, w.created_at, ${selectAccess('g.id')} as access
), made as (
  insert into access_token (id, grant_id, value_hash, expires_at, created_at)
  select id, grant_id, value_hash, expires_at, created_at from ended
)
select id, access from ended`

/** A rotation to be written. */
interface Wanted {
  readonly oldTokenId: string
  readonly token: IssuedToken
}

interface RotatedRow {
  readonly id: string
  readonly access: readonly StoredAccessItem[]
}

/** Writes to PostgreSQL. */
export function createRotateTokenRepository(pool: Pool): RotateTokenRepository {
  const write = writeTogether(async (wanted: readonly Wanted[]) => {
    const column = (read: (token: IssuedToken) => unknown): unknown[] =>
      wanted.map(({ token }) => read(token))
    const { rows } = await pool.query<RotatedRow>({
      name: 'rotate-tokens',
      text: ROTATE,
      values: [
        wanted.map(({ oldTokenId }) => oldTokenId),
        column(({ id }) => id),
        column(({ hash }) => hash),
        column(({ expiresAt }) => expiresAt),
        column(({ createdAt }) => createdAt)
      ]
    })
    const made = new Map(rows.map(({ id, access }) => [id, access]))
    return wanted.map(({ token }) => made.get(token.id))
  })
  return {
    async rotate(oldTokenId, token) {
      const access = await write({ oldTokenId, token })
      if (access !== undefined) return { outcome: 'rotated', access: access.map(restoreAccessItem) }
      // Seldom: it is asked for only what the client is to be told.
      const { rowCount } = await pool.query('select from access_token where id = $1', [oldTokenId])
      return { outcome: rowCount === 0 ? 'unknown' : 'over' }
    }
  }
}
