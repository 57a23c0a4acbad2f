import type { Pool } from 'pg'

/** Writes that the account holder agreed. */
export interface AcceptGrantRepository {
  /** Answers whether it was written: not when the grant is decided or cancelled already, or the interaction expired. */
  accept(interactionId: string, now: Date): Promise<boolean>
}

// One statement: the grant's row decides between choices that race, and the interaction never says otherwise.
const ACCEPT = `
with accepted as (
  update grant_request g set state = 'approved', updated_at = $2
    from interaction i
   where i.id = $1 and i.state = 'PENDING' and i.expires_at > $2 and g.id = i.grant_id and g.state = 'pending'
  returning g.id)
update interaction i set state = 'APPROVED' from accepted where i.grant_id = accepted.id`

/** Writes to PostgreSQL. */
export function createAcceptGrantRepository(pool: Pool): AcceptGrantRepository {
  return {
    async accept(interactionId, now) {
      const { rowCount } = await pool.query(ACCEPT, [interactionId, now])
      return rowCount === 1
    }
  }
}
