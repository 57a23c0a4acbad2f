import { Prisma, type Queries } from '../database.js'
import type { StoredEvent } from '../events/index.js'
import { findLowerings } from './acts.js'
import { GRANT_WITH_ACCESS, operatedGrantOf, type OperatedGrant } from './read.js'

/** Fragment: selects the events of `inserted_grant`. */
export const insertedGrantEvents = Prisma.sql`
  select 'grant.requested' as type, id as subject_id, json_build_object('state', state, 'updatedAt', created_at) as change,
         created_at as occurred_at
    from inserted_grant`

/** Fragment: the columns of an event of a grant that just changed, but for its type. */
const CHANGED = Prisma.sql`
  grant_id as subject_id, json_build_object('state', state, 'updatedAt', changed_at) as change, changed_at as occurred_at`

/** Fragment: selects the events of `approved_grant`. */
export const approvedGrantEvents = Prisma.sql`select 'grant.approved' as type, ${CHANGED} from approved_grant`

/** Fragment: selects the events of `issued_grant`. */
export const issuedGrantEvents = Prisma.sql`select 'token.issued' as type, ${CHANGED} from issued_grant`

/** Fragment: selects the events of `ended_grant`. */
export const endedGrantEvents = Prisma.sql`
  select case state when 'rejected' then 'grant.declined' else 'grant.ended' end as type, ${CHANGED} from ended_grant`

/** Fragment: what changes of a grant `g`, as it is now: for events of what belongs to it. */
export const GRANT_CHANGE = Prisma.sql`json_build_object('state', g.state, 'updatedAt', g.updated_at)`

/** What changes of a grant. */
interface Change {
  /** Absent where it can only be `issued`. */
  readonly state?: OperatedGrant['state']
  readonly updatedAt: string
}

/**
 * Reads grants as they were when something happened to them.
 *
 * @returns the grant of each event, in their order; undefined for one that is no longer kept
 */
export async function readToldGrants(
  on: Queries,
  events: readonly StoredEvent[]
): Promise<readonly (OperatedGrant | undefined)[]> {
  if (events.length === 0) return []
  const ids = [...new Set(events.map(({ subjectId }) => subjectId))]
  const grants = await on.grant.findMany({ where: { id: { in: ids } }, ...GRANT_WITH_ACCESS })
  const grantOf = new Map(grants.map((grant) => [grant.id, operatedGrantOf(grant)]))
  const lowerings = await findLowerings(on, ids)
  return events.map(({ subjectId, change }) => {
    const grant = grantOf.get(subjectId)
    if (grant === undefined || change === undefined) return grant
    const { state = 'issued', updatedAt } = change as unknown as Change
    const updatedAtMs = Date.parse(updatedAt)
    const lowered = lowerings.get(subjectId)?.find(({ atMs }) => atMs > updatedAtMs)
    return { ...grant, state, updatedAtMs, access: lowered?.accessBefore ?? grant.access }
  })
}
