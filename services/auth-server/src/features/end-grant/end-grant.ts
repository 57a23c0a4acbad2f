import { placeholder, Statement } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantCounters } from '../../domain/counters.js'
import type { RevocationBus } from '../../domain/revocations.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { endedGrantEvents, endedGrants, type GrantEnd, grantEndValues } from '../../modules/grants/index.js'
import { deniedInteractions, openInteraction } from '../../modules/interactions/index.js'
import { endedTokens } from '../../modules/tokens/index.js'

// The one way in which grants end, whoever ends them: the grant's row decides between racing ends, and its tokens and its
// interaction follow in the same statement. Its event is appended after its token has ended, which may wait for a rotation: what
// that appends must come before.
const END = Prisma.sql`
  ${endedGrants}, ${endedTokens}, ${deniedInteractions},
  ${appended(Prisma.sql`${endedGrantEvents} where (select count(*) from ended_token) is not null`)}
  select grant_id from ended_grant`

const END_BY_ID = new Statement(
  'end-grant',
  Prisma.sql`with ending as (select ${placeholder('grantId')}::uuid as grant_id), ${END}`,
  { prepared: false }
)

const END_BY_INTERACTION = new Statement(
  'end-grant-of-interaction',
  Prisma.sql`with ${openInteraction}, ending as (select grant_id from open_interaction), ${END}`,
  { prepared: false }
)

/** The grant to end: by its id, or by its interaction while the account holder can decide. */
export type EndingGrant = { readonly grantId: string } | { readonly interactionId: string }

/**
 * Ends a grant with its tokens.
 *
 * @returns whether this call did it: false when its state does not allow it, or there is none
 */
export async function endGrant(
  on: Queries,
  ending: EndingGrant,
  end: GrantEnd,
  nowMs: number
): Promise<boolean> {
  const statement = 'grantId' in ending ? END_BY_ID : END_BY_INTERACTION
  const ended = await statement.rows(on, { ...ending, ...grantEndValues(end, nowMs) })
  return ended.length === 1
}

/** What revoking grants needs, whoever revokes them. */
export interface RevokeGrantDependencies {
  readonly database: Queries
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
  readonly counters: Pick<GrantCounters, 'countGrant'>
}

/**
 * Publishes that a grant is revoked to everyone who relies on its tokens, and counts it.
 *
 * @throws Error when it cannot be published
 */
export async function publishRevoked(
  grantId: string,
  { revocations, counters }: Pick<RevokeGrantDependencies, 'revocations' | 'counters'>
): Promise<void> {
  await revocations.publish({ kind: 'grant', grantId })
  counters.countGrant('revoked')
}
