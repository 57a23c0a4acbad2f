import { createLookup } from '@open-payments-server/database'
import type { Pool } from 'pg'
import { restoreAccessItem, type StoredAccessItem } from '../../domain/access.js'
import type { ManagedToken } from '../../domain/authentication.js'
import type { BoundClient } from '../../domain/clients.js'
import type { ContinuedGrant } from '../../domain/continuation.js'
import {
  type GrantState,
  restoreHolder,
  type StoredHolder,
  type SubjectRequest
} from '../../domain/grants.js'

/** A grant, and what shows that a client may continue it. */
export interface ContinuableGrant {
  readonly grant: Omit<ContinuedGrant, 'continuationToken'>
  readonly holder: BoundClient
  /** SHA-256 of its continuation token. */
  readonly secretHash: Buffer
}

/** A token, and who may manage it. */
export interface ManageableToken {
  readonly token: ManagedToken
  readonly holder: BoundClient
  /** SHA-256 of its value. */
  readonly secretHash: Buffer
}

/** Finds what clients continue and manage. Ids are UUIDs. */
export interface HolderRepository {
  findGrant(id: string): Promise<ContinuableGrant | undefined>
  findToken(id: string): Promise<ManageableToken | undefined>
}

const HOLDER_COLUMNS = `
  g.client_wallet_address as "clientWalletAddress", g.client_jwk_thumbprint as "clientJwkThumbprint",
  g.key_id as "keyId", g.key_x as "keyX"`

const ACCESS_COLUMN = `
  (select coalesce(json_agg(json_build_object(
            'type', a.type, 'actions', a.actions, 'identifier', a.identifier,
            'limitReceiver', a.limit_receiver, 'limitInterval', a.limit_interval,
            'limitDebitValue', a.limit_debit_value::text, 'limitDebitCode', a.limit_debit_code,
            'limitDebitScale', a.limit_debit_scale,
            'limitReceiveValue', a.limit_receive_value::text, 'limitReceiveCode', a.limit_receive_code,
            'limitReceiveScale', a.limit_receive_scale) order by a.position), '[]')
     from access_item a where a.grant_id = g.id) as access`

// Clients poll with these, so all that ask at the same time share one prepared statement; Prisma's models would send three
// for each.
const FIND_GRANT = `
select g.id, g.state, g.subject, g.finish_uri is not null as "hasFinish", g.continue_after as "continueAfter",
       g.rejection_reason as "rejectionReason", g.continuation_token_hash as "continuationTokenHash",
       i.reference, i.expires_at as "expiresAt",
       -- A replica of the release before says nothing of it when it approves.
       coalesce(g.continue_before, i.expires_at) as "continueBefore", ${HOLDER_COLUMNS}, ${ACCESS_COLUMN}
  from grant_request g left join interaction i on i.grant_id = g.id
 where g.id = any($1)`

const FIND_TOKEN = `
select t.id, t.value_hash as "valueHash", t.ended_at is not null as "isEnded",
       g.id as "grantId", g.state as "grantState", ${HOLDER_COLUMNS}, ${ACCESS_COLUMN}
  from access_token t join grant_request g on g.id = t.grant_id
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
  readonly valueHash: Buffer
  readonly isEnded: boolean
  readonly grantId: string
  readonly grantState: GrantState
  readonly access: readonly StoredAccessItem[]
}

/** Finds grants and tokens in PostgreSQL: those that are asked for at the same time with one statement. */
export function createHolderRepository(pool: Pool): HolderRepository {
  const lookUpGrant = createLookup<GrantRow>({ pool, name: 'find-grants', text: FIND_GRANT })
  const lookUpToken = createLookup<TokenRow>({ pool, name: 'find-managed-tokens', text: FIND_TOKEN })
  return {
    async findGrant(id) {
      const row = await lookUpGrant(id)
      return row && restoreGrant(row)
    },
    async findToken(id) {
      const row = await lookUpToken(id)
      return row && restoreToken(row)
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

function restoreToken(row: TokenRow): ManageableToken {
  const { id, valueHash, isEnded, grantId, grantState } = row
  const access = row.access.map(restoreAccessItem)
  return {
    holder: restoreHolder(row),
    secretHash: valueHash,
    token: { id, valueHash, isEnded, grantId, grantState, access }
  }
}
