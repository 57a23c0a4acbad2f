import type { Pool } from 'pg'

/** Writes that the account holder declined. */
export interface RejectGrantRepository {
  /** Answers whether it was written: not when the grant is decided or cancelled already, or the interaction expired. */
  reject(interactionId: string, reason: string | undefined, now: Date): Promise<boolean>
}

// One statement: the grant's row decides between choices that race, and the interaction never says otherwise.
const REJECT = `
with rejected as (
  update grant_request g set state = 'rejected', rejection_reason = $3, updated_at = $2
    from interaction i
   where i.id = $1 and i.state = 'PENDING' and i.expires_at > $2 and g.id = i.grant_id and g.state = 'pending'
  returning g.id)
update interaction i set state = 'DENIED' from rejected where i.grant_id = rejected.id`

/** Writes to PostgreSQL. */
export function createRejectGrantRepository(pool: Pool): RejectGrantRepository {
  return {
    async reject(interactionId, reason, now) {
      const { rowCount } = await pool.query(REJECT, [interactionId, now, reason])
      return rowCount === 1
    }
  }
}
