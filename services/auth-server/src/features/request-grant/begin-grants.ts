import { Statement, writeTogether } from '@open-payments-server/database'
import type { NewToken } from '../../domain/new-token.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  insertedGrantEvents,
  insertedGrants,
  type NewGrant,
  newGrantValues
} from '../../modules/grants/index.js'
import {
  insertedInteractions,
  type NewInteraction,
  newInteractionValues
} from '../../modules/interactions/index.js'
import { insertedTokens, newTokenValues } from '../../modules/tokens/index.js'

/** A new grant, and what it begins with: a token at once, or an interaction with the account holder. */
export interface GrantBeginning {
  readonly grant: NewGrant
  readonly token?: NewToken
  readonly interaction?: Omit<NewInteraction, 'grantId'>
}

/**
 * Writes a grant with everything that belongs to it, or nothing.
 *
 * @returns false when its client is frozen: then nothing is written
 */
export type BeginGrant = (beginning: GrantBeginning) => Promise<boolean>

/** What belongs to the grants that are written. */
const OF_INSERTED = Prisma.sql`where "grantId" in (select id from inserted_grant)`

// One statement for all concurrent grant requests: a grant with its items and its token or interaction is the write that
// clients wait for most often, and is written whole or not at all without a transaction's round trips.
const BEGIN_GRANTS = new Statement<{ id: string }>(
  'begin-grants',
  Prisma.sql`
  with ${insertedGrants}, ${insertedInteractions(OF_INSERTED)}, ${insertedTokens(OF_INSERTED)}, ${appended(insertedGrantEvents)}
  select id from inserted_grant`
)

/** Writes grants to the database. */
export function createBeginGrant({ database }: { readonly database: Queries }): BeginGrant {
  return writeTogether(async (beginnings) => {
    const rows = await BEGIN_GRANTS.rows(database, {
      ...newGrantValues(beginnings.map(({ grant }) => grant)),
      ...newInteractionValues(
        beginnings.flatMap(({ grant, interaction }) =>
          interaction === undefined ? [] : [{ ...interaction, grantId: grant.id }]
        )
      ),
      ...newTokenValues(
        beginnings.flatMap(({ grant, token }) =>
          token === undefined ? [] : [{ ...token, grantId: grant.id }]
        )
      )
    })
    const written = new Set(rows.map(({ id }) => id))
    return beginnings.map(({ grant }) => written.has(grant.id))
  })
}
