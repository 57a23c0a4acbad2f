import { instantText, placeholder, type RawQueries, sql, Statement } from '@open-payments-server/database'
import { appended } from './append.js'
import { z } from 'zod'
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

/** `data` of the events of an audit. */
export const AUDIT_SCHEMA = z.strictObject({
  id: z.url(),
  checks: z.array(
    z.strictObject({
      invariant: z.string().describe('What must hold, in a sentence.'),
      checkedCount: z.string().describe('Number of rows checked.'),
      holds: z.boolean()
    })
  ),
  createdAt: z.iso.datetime()
})

/** What an event of an audit could tell. */
export function exampleOfAudit(holds: boolean): { readonly subject: string; readonly data: object } {
  const id = 'urn:uuid:b5a0a7ee-4a0f-4b43-9a42-6a3a2a5b1f44'
  const invariant = 'What every grant has spent equals its reservations, within its limits.'
  const checks = [{ invariant, checkedCount: '1204', holds }]
  return { subject: id, data: { id, checks, createdAt: '2026-11-24T09:30:00.000Z' } }
}
