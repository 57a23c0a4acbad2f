import type { Pool } from 'pg'

/** An account holder's agreement. */
export interface Approval {
  readonly interactionId: string
  readonly now: Date
  /** When the grant must be continued at the latest. */
  readonly continueBefore: Date
  /** SHA-256 of the code that the browser needs to finish; undefined when it needs none. */
  readonly finishCodeHash: Buffer | undefined
}

/** Writes that the account holder agreed. */
export interface AcceptGrantRepository {
  /** Answers whether it was written: not when the grant is decided or cancelled already, or the interaction expired. */
  accept(approval: Approval): Promise<boolean>
}

// One statement: the grant's row decides between choices that race, and the interaction never says otherwise.
const ACCEPT = `
with accepted as (
  update grant_request g set state = 'approved', continue_before = $3, updated_at = $2
    from interaction i
   where i.id = $1 and i.state = 'PENDING' and i.expires_at > $2 and g.id = i.grant_id and g.state = 'pending'
  returning g.id)
update interaction i set state = 'APPROVED', finish_code_hash = $4 from accepted where i.grant_id = accepted.id`

/** Writes to PostgreSQL. */
export function createAcceptGrantRepository(pool: Pool): AcceptGrantRepository {
  return {
    async accept({ interactionId, now, continueBefore, finishCodeHash }) {
      const { rowCount } = await pool.query(ACCEPT, [interactionId, now, continueBefore, finishCodeHash])
      return rowCount === 1
    }
  }
}
