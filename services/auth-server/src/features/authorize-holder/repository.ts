import { createLookup } from '@open-payments-server/database'
import type { Pool } from 'pg'
import { restoreAccessItem, selectAccess, type StoredAccessItem } from '../../domain/access.js'
import type { ContinuedGrant } from '../../domain/continuation.js'
import {
  type GrantState,
  restoreHolder,
  type StoredHolder,
  type SubjectRequest
} from '../../domain/grants.js'
import type { HeldToken } from '../../domain/held-tokens.js'

/** A grant, and what shows that a client may continue it. */
export interface ContinuableGrant {
  readonly grant: Omit<ContinuedGrant, 'holder' | 'continuationToken'>
  readonly holder: ContinuedGrant['holder']
  /** SHA-256 of its continuation token. */
  readonly secretHash: Buffer
}

/** Finds what clients continue and manage. Ids are UUIDs. */
export interface HolderRepository {
  findGrant(id: string): Promise<ContinuableGrant | undefined>
  findToken(id: string): Promise<HeldToken | undefined>
}

const HOLDER_COLUMNS = `
  g.client_wallet_address as "clientWalletAddress", g.client_jwk_thumbprint as "clientJwkThumbprint",
  g.key_id as "keyId", g.key_x as "keyX"`

// Clients poll with these, so all that ask at the same time share one prepared statement; Prisma's models would send three
// for each.
const FIND_GRANT = `
select g.id, g.state, g.subject, g.finish_uri is not null as "hasFinish", g.continue_after as "continueAfter",
       g.rejection_reason as "rejectionReason", g.continuation_token_hash as "continuationTokenHash",
       i.reference, i.expires_at as "expiresAt",
       -- A replica of the release before says nothing of it when it approves.
       coalesce(g.continue_before, i.expires_at) as "continueBefore", ${HOLDER_COLUMNS}, ${selectAccess('g.id')} as access
  from grant_request g left join interaction i on i.grant_id = g.id and i.grant_id = any($1)
 where g.id = any($1)`

// "lateral" and "limit" have each grant looked up by its key: a plan made while there were few would read all of them instead.
const FIND_TOKEN = `
select t.id, t.value_hash as "secretHash", ${HOLDER_COLUMNS}
  from access_token t cross join lateral (select * from grant_request where id = t.grant_id limit 1) g
 where t.id = any($1)`

interface GrantRow extends StoredHolder {
  readonly id: string
  readonly state: GrantState
  readonly subject: SubjectRequest | null
  readonly hasFinish: boolean
  readonly continueAfter: Date | null
  readonly rejectionReason: string | null
  readonly continuationTokenHash: Buffer
  readonly reference: string | null
  readonly expiresAt: Date | null
  readonly continueBefore: Date | null
  readonly access: readonly StoredAccessItem[]
}

interface TokenRow extends StoredHolder {
  readonly id: string
  readonly secretHash: Buffer
}

/** Finds grants and tokens in PostgreSQL: those that are asked for at the same time with one statement. */
export function createHolderRepository(pool: Pool): HolderRepository {
  const lookUpGrant = createLookup(
    async (ids) => (await pool.query<GrantRow>({ name: 'find-grants', text: FIND_GRANT, values: [ids] })).rows
  )
  const lookUpToken = createLookup(
    async (ids) =>
      (await pool.query<TokenRow>({ name: 'find-managed-tokens', text: FIND_TOKEN, values: [ids] })).rows
  )
  return {
    async findGrant(id) {
      const row = await lookUpGrant(id)
      return row && restoreGrant(row)
    },
    async findToken(id) {
      const row = await lookUpToken(id)
      return row && { id, secretHash: row.secretHash, holder: restoreHolder(row) }
    }
  }
}

function restoreGrant(row: GrantRow): ContinuableGrant {
  const { reference, expiresAt, continueBefore } = row
  return {
    holder: restoreHolder(row),
    secretHash: row.continuationTokenHash,
    grant: {
      id: row.id,
      state: row.state,
      access: row.access.map(restoreAccessItem),
      subject: row.subject ?? undefined,
      hasFinish: row.hasFinish,
      continueAfter: row.continueAfter ?? undefined,
      rejectionReason: row.rejectionReason ?? undefined,
      interaction:
        reference === null || expiresAt === null || continueBefore === null
          ? undefined
          : { reference, expiresAt, continueBefore }
    }
  }
}
