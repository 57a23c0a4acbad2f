import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { ContinuedGrant } from '../../domain/continuation.js'
import { payableUntilMs } from '../../domain/grant-expiry.js'
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
const ISSUE_GRANT = new Statement<{ issued: boolean; frozen: boolean }>(
  'issue-grant',
  Prisma.sql`
  with ${issuedGrants}, ${insertedTokens(Prisma.sql`where "grantId" in (select grant_id from issued_grant)`)},
       ${expectedExpiries}, ${appended(issuedGrantEvents)}
  select exists (select 1 from issued_grant) as issued, ${IS_HOLDER_FROZEN} as frozen
    from ${grantByKey(Prisma.sql`${placeholder('grantId')}::uuid`)}`
)

/**
 * Issues an approved grant, once.
 *
 * @param token undefined when the client requested no access
 * @returns `over` when it was already issued or ended
 */
export async function issueGrant(
  on: Queries,
  { id: grantId, access }: Pick<ContinuedGrant, 'id' | 'access'>,
  token: NewToken | undefined,
  nowMs: number
): Promise<'issued' | 'client-frozen' | 'over'> {
  const tokens = token === undefined ? [] : [{ ...token, grantId, createdAtMs: nowMs }]
  const endsAtMs = payableUntilMs(access)
  const [result] = await ISSUE_GRANT.rows(on, {
    grantId,
    now: instantText(nowMs),
    endsAt: endsAtMs === undefined ? null : instantText(endsAtMs),
    ...newTokenValues(tokens)
  })
  if (result?.issued === true) return 'issued'
  return result?.frozen === true ? 'client-frozen' : 'over'
}
