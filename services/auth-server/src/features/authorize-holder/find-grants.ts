import { createLookup, placeholder, readBytes, Statement } from '@open-payments-server/database'
import type { ContinuedGrant } from '../../domain/continuation.js'
import { Prisma, type Queries } from '../../modules/database.js'
import {
  CONTINUABLE_COLUMNS,
  type ContinuableRow,
  GRANT_ID,
  GRANTS,
  restoreContinuable,
  restoreHolder
} from '../../modules/grants/index.js'
import {
  INTERACTION_OF_GRANT_COLUMNS,
  interactionOf,
  type InteractionOfGrantRow,
  restoreInteractionOfGrant
} from '../../modules/interactions/index.js'

/** A grant, and what authorizes a client to continue it. */
export interface ContinuableGrant {
  readonly grant: Omit<ContinuedGrant, 'holder' | 'continuationToken'>
  readonly holder: ContinuedGrant['holder']
  /** SHA-256 of its continuation token. */
  readonly secretHash: Buffer
}

type GrantRow = ContinuableRow & InteractionOfGrantRow

const IDS = Prisma.sql`${placeholder('ids')}::uuid[]`

// Clients poll with these, so concurrent lookups share one statement; Prisma's models would send three for each.
const FIND_GRANTS = new Statement<GrantRow>(
  'find-grants',
  Prisma.sql`
  select ${CONTINUABLE_COLUMNS}, ${INTERACTION_OF_GRANT_COLUMNS}
    from ${GRANTS} ${interactionOf(GRANT_ID, IDS)}
   where ${GRANT_ID} = any(${IDS})`
)

/** Finds grants that clients continue by their ids (UUID), batching concurrent lookups into one statement. */
export function createContinuableGrants({
  database
}: {
  readonly database: Queries
}): (id: string) => Promise<ContinuableGrant | undefined> {
  const lookUp = createLookup((ids) => FIND_GRANTS.rows(database, { ids }))
  return async (id) => {
    const row = await lookUp(id)
    return row && restoreGrant(row)
  }
}

function restoreGrant(row: GrantRow): ContinuableGrant {
  return {
    holder: restoreHolder(row),
    secretHash: readBytes(row.continuationTokenHash),
    grant: { ...restoreContinuable(row), interaction: restoreInteractionOfGrant(row) }
  }
}
