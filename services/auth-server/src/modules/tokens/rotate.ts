import { bytesText, instantText, placeholder, Statement, writeTogether } from '@open-payments-server/database'
import type { AccessItem } from '../../domain/access.js'
import type { NewToken } from '../../domain/new-token.js'
import { Prisma, type Queries } from '../database.js'
import { appended } from '../events/index.js'
import {
  accessOf,
  GRANT_CHANGE,
  GRANT_ENDS_AT,
  GRANT_ID,
  grantByKey,
  GRANTS,
  IS_HOLDER_FROZEN,
  isBeforeEnd,
  IS_ISSUED,
  restoreAccessItem,
  type StoredAccessItem
} from '../grants/index.js'

/** The result of a rotation: what the new token allows, or why there is none. */
export type Rotation =
  | { readonly kind: 'rotated'; readonly access: readonly AccessItem[]; readonly expiresAtMs: number }
  /** The old one was already rotated or revoked, or its grant has ended. */
  | { readonly kind: 'over' }
  /** An operator froze the client. */
  | { readonly kind: 'client-frozen' }
  /** The token does not exist, or no longer exists. */
  | { readonly kind: 'unknown' }

/**
 * Replaces a token with a new one.
 *
 * @param oldTokenId management id (UUID) of the old one
 */
export type RotateToken = (oldTokenId: string, token: NewToken) => Promise<Rotation>

interface RotatedRow {
  readonly id: string
  readonly access: readonly StoredAccessItem[]
  readonly expiresAt: Date
}

// One statement for all that arrive together. Of racing rotations, the one that ends the old token's row creates the new
// one. Nothing is trusted from the cache here: whether the token, and its grant, are still active is decided where it is
// ended. Rows are locked in the order of ids before the first is changed, to avoid deadlocks. An active token has neither a
// reason nor an instant of its end. The reason is checked because no plan uses an index of it, which would read all active
// tokens.
const ROTATE = new Statement<RotatedRow>(
  'rotate-tokens',
  Prisma.sql`
  with wanted as (
    select * from json_to_recordset(${placeholder('wanted')}::json)
      as w (old_id uuid, id uuid, value_hash bytea, expires_at timestamptz, created_at timestamptz)
  ), living as (
    select id from access_token where id = any (${placeholder('oldIds')}::uuid[]) and end_reason is null
     order by id for no key update
  ), ended as (
    update access_token t set ended_at = w.created_at, end_reason = 'rotated'
      from wanted w cross join ${GRANTS}
     where t.id = w.old_id and t.id = any (array(select id from living)) and ${GRANT_ID} = t.grant_id and ${IS_ISSUED}
       and ${isBeforeEnd(Prisma.sql`w.created_at`)}
       and not ${IS_HOLDER_FROZEN}
    returning t.grant_id, w.id, w.value_hash, least(w.expires_at, ${GRANT_ENDS_AT}) as expires_at, w.created_at, ${accessOf(GRANT_ID)} as access, ${GRANT_CHANGE} as change
  ), made as (
    insert into access_token (id, grant_id, value_hash, expires_at, created_at)
    select id, grant_id, value_hash, expires_at, created_at from ended
  ), ${appended(Prisma.sql`
  select 'token.rotated' as type, grant_id as subject_id, change, created_at as occurred_at from ended`)}
  select id, access, expires_at as "expiresAt" from ended`
)

interface Wanted {
  readonly oldTokenId: string
  readonly token: NewToken
}

/** Rotates tokens in the database, batching concurrent rotations into one statement. */
export function createRotateToken({ database }: { readonly database: Queries }): RotateToken {
  const rotate = writeTogether(async (wanted: readonly Wanted[]) => {
    const rows = await ROTATE.rows(database, {
      wanted: JSON.stringify(wanted.map(toRecord)),
      oldIds: wanted.map(({ oldTokenId }) => oldTokenId)
    })
    const made = new Map(rows.map((row) => [row.id, row]))
    return wanted.map(({ token }) => made.get(token.id))
  })
  return async (oldTokenId, token) => {
    const made = await rotate({ oldTokenId, token })
    if (made !== undefined) {
      const { access, expiresAt } = made
      return { kind: 'rotated', access: access.map(restoreAccessItem), expiresAtMs: expiresAt.getTime() }
    }
    // Rare: only needed for the answer to the client.
    const [found] = await WHY_NOT.rows(database, { tokenId: oldTokenId })
    if (found === undefined) return { kind: 'unknown' }
    return { kind: found.frozen ? 'client-frozen' : 'over' }
  }
}

/** A statement, to decide as {@link ROTATE} does. */
const WHY_NOT = new Statement<{ frozen: boolean }>(
  'why-not-rotated',
  Prisma.sql`
  select ${IS_HOLDER_FROZEN} as frozen from access_token t cross join ${grantByKey(Prisma.sql`t.grant_id`)}
   where t.id = ${placeholder('tokenId')}::uuid`
)

function toRecord({ oldTokenId, token }: Wanted): object {
  return {
    old_id: oldTokenId,
    id: token.id,
    value_hash: bytesText(token.hash),
    expires_at: instantText(token.expiresAtMs),
    created_at: instantText(token.createdAtMs)
  }
}

/** Whether a token exists, active or not. */
export async function isThere(on: Queries, tokenId: string): Promise<boolean> {
  return (await on.accessToken.findUnique({ where: { id: tokenId }, select: { id: true } })) !== null
}
