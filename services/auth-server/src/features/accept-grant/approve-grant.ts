import { instantText, Statement } from '@open-payments-server/database'
import type { ConsentRecord } from '../../domain/consent-proof.js'
import type { GrantedItem } from '../../domain/narrowing.js'
import { consentRecordValue, insertedConsentRecords } from '../../modules/consent-records/index.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  approvedGrantEvents,
  approvedGrants,
  grantedAccessValue,
  narrowedAccess
} from '../../modules/grants/index.js'
import { approvedInteractions, openInteraction } from '../../modules/interactions/index.js'

/** An account holder's consent. */
export interface Approval {
  readonly interactionId: string
  readonly nowMs: number
  /** Time by which the grant must be continued. */
  readonly continueBeforeMs: number
  /** SHA-256 of the code that the browser needs to finish; undefined when it needs none. */
  readonly finishCodeHash: Buffer | undefined
  /** What was granted; undefined for everything that was asked. */
  readonly granted: readonly GrantedItem[] | undefined
  /** When it ends, in milliseconds since 1970; undefined when no end was set. */
  readonly endsAtMs: number | undefined
  /** The proof of the consent; undefined for consent without one. */
  readonly consentRecord: ConsentRecord | undefined
  /** Whether the consent counts only with its record. */
  readonly needsConsentRecord: boolean
}

// One statement: the grant's row decides between racing decisions, and the interaction always agrees with it.
const APPROVE_GRANT = new Statement(
  'approve-grant',
  Prisma.sql`
  with ${openInteraction}, ${approvedGrants}, ${approvedInteractions}, ${narrowedAccess},
       ${insertedConsentRecords}, ${appended(approvedGrantEvents)}
  select grant_id from approved_grant`,
  { prepared: false }
)

/**
 * Records that the account holder consented.
 *
 * @returns false when the grant is decided or ended already, or the interaction expired
 */
export async function approveGrant(on: Queries, approval: Approval): Promise<boolean> {
  const { interactionId, nowMs, continueBeforeMs, endsAtMs, finishCodeHash } = approval
  const approved = await APPROVE_GRANT.rows(on, {
    interactionId,
    now: instantText(nowMs),
    continueBefore: instantText(continueBeforeMs),
    endsAt: endsAtMs === undefined ? null : instantText(endsAtMs),
    finishCodeHash: finishCodeHash ?? null,
    needsConsentRecord: approval.needsConsentRecord,
    ...grantedAccessValue(approval.granted),
    ...consentRecordValue(approval.consentRecord)
  })
  return approved.length === 1
}
