import { instantText, placeholder, Statement } from '@open-payments-server/database'
import { payableUntilMs } from '@open-payments-server/value-types/intervals'
import type { AccessItem } from '../../domain/access.js'
import type { ContinuedGrant } from '../../domain/continuation.js'
import { usableUntilMs } from '../../domain/grant-expiry.js'
import type { NewToken } from '../../domain/new-token.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  expectedExpiries,
  grantByKey,
  IS_HOLDER_FROZEN,
  issuedGrantEvents,
  issuedGrants
} from '../../modules/grants/index.js'
import { insertedTokens, newTokenValues } from '../../modules/tokens/index.js'

// One statement: whoever changes the grant's row gets the token, and there is no issued grant without one.
const ISSUE_GRANT = new Statement<{ issued: boolean; endsAt: Date | null; frozen: boolean }>(
  'issue-grant',
  Prisma.sql`
  with ${issuedGrants}, ${insertedTokens(Prisma.sql`where "grantId" in (select grant_id from issued_grant)`)},
       ${expectedExpiries}, ${appended(issuedGrantEvents)}
  select exists (select 1 from issued_grant) as issued, (select ends_at from issued_grant) as "endsAt",
         ${IS_HOLDER_FROZEN} as frozen
    from ${grantByKey(Prisma.sql`${placeholder('grantId')}::uuid`)}`
)

/**
 * Issues an approved grant, once.
 *
 * @param token undefined when the client requested no access
 * @returns when it ends, in milliseconds since 1970, or that it has no end; `over` when it was already issued or ended
 */
export async function issueGrant(
  on: Queries,
  { id: grantId, access }: Pick<ContinuedGrant, 'id' | 'access'>,
  token: NewToken | undefined,
  nowMs: number
): Promise<{ readonly endsAtMs: number | undefined } | 'client-frozen' | 'over'> {
  const tokens = token === undefined ? [] : [{ ...token, grantId, createdAtMs: nowMs }]
  const [result] = await ISSUE_GRANT.rows(on, {
    grantId,
    now: instantText(nowMs),
    payableUntil: instantOrNull(payableUntilMs(access)),
    usableUntil: instantOrNull(endOf(access, nowMs)),
    ...newTokenValues(tokens)
  })
  if (result?.issued === true) return { endsAtMs: result.endsAt?.getTime() }
  return result?.frozen === true ? 'client-frozen' : 'over'
}

/**
 * When nothing is left of a grant by itself. What was over when it was asked for has no such end: what it pays is refused as outside its
 * interval.
 */
function endOf(access: readonly AccessItem[], nowMs: number): number | undefined {
  const usableUntil = usableUntilMs(access)
  return usableUntil !== undefined && usableUntil > nowMs ? usableUntil : undefined
}

function instantOrNull(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : instantText(instantMs)
}
