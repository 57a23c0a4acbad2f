import type { Pool } from 'pg'

/** Writes cancellations. */
export interface CancelGrantRepository {
  /** Ends a grant and its tokens. Changes nothing when it is over already. */
  cancel(grantId: string, now: Date): Promise<void>
}

// A token that is being issued or rotated at this moment is not seen here; it is dead all the same, because tokens live
// only while their grant is issued.
const CANCEL = `
with cancelled as (
  update grant_request set state = 'revoked', continue_after = null, updated_at = $2
   where id = $1 and state not in ('rejected', 'revoked'))
update access_token set ended_at = $2, end_reason = 'revoked' where grant_id = $1 and ended_at is null`

/** Writes to PostgreSQL. */
export function createCancelGrantRepository(pool: Pool): CancelGrantRepository {
  return {
    async cancel(grantId, now) {
      await pool.query(CANCEL, [grantId, now])
    }
  }
}
