import { instantText, placeholder, type RawQueries, sql, Statement } from '@open-payments-server/database'
import { appended } from './append.js'
import type { EventContent, StoredEvent } from './event.js'

/** What an audit found of one invariant. */
export interface AuditedInvariant {
  /** What must hold, in a sentence. */
  readonly invariant: string
  /** Number of rows checked. */
  readonly checkedCount: bigint
  /** One for each place where it does not hold. */
  readonly violations: readonly string[]
}

/** An audit is no row of any table: only its event tells of it. */
const APPEND = new Statement(
  'append-audit',
  sql`
  with ${appended(sql`
  select ${placeholder('type')}::text as type, gen_random_uuid() as subject_id, ${placeholder('change')}::json as change,
         ${placeholder('now')}::timestamptz as occurred_at`)}
  select 1 as audited`,
  { prepared: false }
)

/**
 * Appends the event `audit.passed` or `audit.failed`. It tells which invariants do not hold, and not where: violations may name people.
 */
export async function appendAudit(
  on: RawQueries,
  checks: readonly AuditedInvariant[],
  nowMs: number
): Promise<void> {
  const told = checks.map(({ invariant, checkedCount, violations }) => ({
    invariant,
    checkedCount: checkedCount.toString(),
    holds: violations.length === 0
  }))
  await APPEND.rows(on, {
    type: told.every(({ holds }) => holds) ? 'audit.passed' : 'audit.failed',
    change: JSON.stringify({ checks: told }),
    now: instantText(nowMs)
  })
}

/** Completes an event of {@link appendAudit}. An audit has no URL: its id is told as a URN (RFC 9562 §4). */
export function completeAudit({ subjectId, change, occurredAtMs }: StoredEvent): EventContent {
  const subject = `urn:uuid:${subjectId}`
  return { subject, data: { id: subject, ...change, createdAt: new Date(occurredAtMs).toISOString() } }
}
