import type { Pool } from 'pg'
import type { IssuedToken } from '../../domain/issued-token.js'

/** Writes continuations. */
export interface ContinueGrantRepository {
  /**
   * Issues an approved grant, once.
   *
   * @param token undefined when the client asked for no access
   * @returns whether this call did it: false when it was issued or cancelled already
   */
  issue(grantId: string, token: IssuedToken | undefined, now: Date): Promise<boolean>
  /**
   * Starts the wait again.
   *
   * @returns false when it runs already, or the grant is not pending any more
   */
  restartWait(grantId: string, continueAfter: Date, now: Date): Promise<boolean>
}

// One statement: whoever turns the grant's row has the token, and there is no issued grant without one.
const ISSUE = {
  name: 'issue-grant',
  text: `
with issued as (
  update grant_request set state = 'issued', continue_after = null, continue_before = null, updated_at = $2
   where id = $1 and state = 'approved'
  returning id
), new_token as (
  insert into access_token (id, grant_id, value_hash, expires_at, created_at)
  select $3::uuid, id, $4, $5::timestamptz, $2 from issued where $3::uuid is not null
)
select 1 from issued`
}

// Clients poll with this one.
const RESTART_WAIT = {
  name: 'restart-wait',
  text: `
update grant_request set continue_after = $2
 where id = $1 and state = 'pending' and (continue_after is null or continue_after <= $3)`
}

/** Writes to PostgreSQL. */
export function createContinueGrantRepository(pool: Pool): ContinueGrantRepository {
  return {
    async issue(grantId, token, now) {
      const values = [grantId, now, token?.id, token?.hash, token?.expiresAt]
      const { rowCount } = await pool.query({ ...ISSUE, values })
      return rowCount === 1
    },
    async restartWait(grantId, continueAfter, now) {
      const { rowCount } = await pool.query({ ...RESTART_WAIT, values: [grantId, continueAfter, now] })
      return rowCount === 1
    }
  }
}
