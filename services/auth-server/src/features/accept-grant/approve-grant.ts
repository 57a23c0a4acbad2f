import { Statement } from '@open-payments-server/database'
import { Prisma, type Queries } from '../../modules/database.js'
import { approvedGrants } from '../../modules/grants/index.js'
import { approvedInteractions, openInteraction } from '../../modules/interactions/index.js'

/** An account holder's agreement. */
export interface Approval {
  readonly interactionId: string
  readonly now: Date
  /** When the grant must be continued at the latest. */
  readonly continueBefore: Date
  /** SHA-256 of the code that the browser needs to finish; undefined when it needs none. */
  readonly finishCodeHash: Buffer | undefined
}

// One statement: the grant's row decides between choices that race, and the interaction never says otherwise.
const APPROVE_GRANT = new Statement(
  'approve-grant',
  Prisma.sql`with ${openInteraction}, ${approvedGrants}, ${approvedInteractions} select grant_id from approved_grant`,
  { prepared: false }
)

/**
 * Writes that the account holder agreed.
 *
 * @returns false when the grant is decided or ended already, or the interaction expired
 */
export async function approveGrant(on: Queries, approval: Approval): Promise<boolean> {
  const { interactionId, now, continueBefore, finishCodeHash } = approval
  const approved = await APPROVE_GRANT.rows(on, {
    interactionId,
    now: now.toISOString(),
    continueBefore: continueBefore.toISOString(),
    finishCodeHash: finishCodeHash ?? null
  })
  return approved.length === 1
}
