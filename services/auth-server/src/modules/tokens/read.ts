import { bytesText, createLookup, placeholder, readBytes, Statement } from '@open-payments-server/database'
import { payableUntilMs } from '@open-payments-server/value-types/intervals'
import { accessAfterPayments } from '../../domain/grant-expiry.js'
import type { IssuedToken, ManagedToken, TokenAccessReader, TokenRecord } from '../../domain/token-record.js'
import { Prisma, type Queries } from '../database.js'
import {
  accessOf,
  GRANT_ENDS_AT,
  GRANT_ID,
  GRANT_UPDATED_AT,
  grantByKey,
  GRANTS,
  HOLDER_COLUMNS,
  IS_HOLDER_FROZEN,
  isBeforeEnd,
  IS_ISSUED,
  IS_PAUSED,
  restoreGrantedItem,
  restoreHolder,
  type StoredAccessItem,
  type StoredHolder
} from '../grants/index.js'
import { consentedWalletAddressOf } from '../interactions/index.js'
import { TokenCache } from './token-cache.js'

/** Reads tokens. */
export interface TokenReader extends TokenAccessReader {
  /**
   * Reads a token.
   *
   * @param tokenHash SHA-256 of its value
   * @param nowMs the token must not have expired by then to be active
   * @returns undefined when it was not issued here
   */
  findToken(tokenHash: Buffer, nowMs: number): Promise<TokenRecord | undefined>
}

/** Whether a token `t` of a grant `g` may be used until it expires. */
const ACTIVE = Prisma.sql`t.ended_at is null and ${IS_ISSUED}`

interface ActiveRow {
  readonly active: boolean
  readonly clientFrozen: boolean
  readonly grantPaused: boolean
  readonly grantUpdatedAt: Date
}

/** The columns of an {@link ActiveRow}. */
const ACTIVE_COLUMNS = Prisma.sql`
  ${ACTIVE} as active, ${IS_HOLDER_FROZEN} as "clientFrozen", ${IS_PAUSED} as "grantPaused", ${GRANT_UPDATED_AT} as "grantUpdatedAt"`

interface TokenRow extends ActiveRow, StoredHolder {
  readonly grantId: string
  readonly expiresAt: Date
  readonly consentedWalletAddress: string | null
  readonly access: readonly (StoredAccessItem & { readonly id: string })[]
}

/**
 * The tokens of `wanted (token_hash, asked_at)` that may be used at that instant: `living (token_hash, asked_at, grant_id,
 * grant_updated_at, client_frozen, grant_paused)`, each once.
 *
 * Whether a token is active is read from the reason why it ended, and not from the instant: so no plan uses the index of
 * all active tokens.
 */
export const usableTokens = Prisma.sql`
  living as (
    select distinct wanted.token_hash, wanted.asked_at, t.grant_id, ${GRANT_UPDATED_AT} as grant_updated_at,
           ${IS_HOLDER_FROZEN} as client_frozen, ${IS_PAUSED} as grant_paused
      from wanted
      join access_token t on t.value_hash = wanted.token_hash
      join ${GRANTS} on ${GRANT_ID} = t.grant_id
     where t.value_hash = any (array(select token_hash from wanted)) and t.end_reason is null
       and t.expires_at > wanted.asked_at and ${IS_ISSUED} and ${isBeforeEnd(Prisma.sql`wanted.asked_at`)})`

/**
 * Every request of every client looks up its token, so this is one statement: Prisma's models would send two (the token
 * with its grant, then the access items) and take about twice the time for each.
 */
const FIND_TOKEN = new Statement<TokenRow>(
  'find-token',
  Prisma.sql`
  select ${ACTIVE_COLUMNS}, t.grant_id as "grantId", least(t.expires_at, ${GRANT_ENDS_AT}) as "expiresAt", ${HOLDER_COLUMNS},
         ${consentedWalletAddressOf(GRANT_ID)} as "consentedWalletAddress", ${accessOf(GRANT_ID)} as access
    from access_token t
    join ${GRANTS} on ${GRANT_ID} = t.grant_id
   where t.value_hash = ${placeholder('hash')}::bytea`
)

/** For tokens that were read before, by their hashes: only what can change. */
const FIND_ACTIVE = new Statement<ActiveRow & { readonly id: string }>(
  'find-active',
  Prisma.sql`
  select '\\x' || encode(t.value_hash, 'hex') as id, ${ACTIVE_COLUMNS}
    from access_token t
    join ${GRANTS} on ${GRANT_ID} = t.grant_id
   where t.value_hash = any (${placeholder('hashes')}::bytea[])`
)

/**
 * Reads tokens from the database; what seldom changes of them is cached in memory. It changes with the grant: what was read is
 * read anew once that is seen to have changed since.
 */
export function createTokenReader({ database }: { readonly database: Queries }): TokenReader {
  const cache = new TokenCache()
  const lookUpActive = createLookup((hashes) => FIND_ACTIVE.rows(database, { hashes }))
  const read = async (hash: Buffer): Promise<(ActiveRow & { readonly issued: IssuedToken }) | undefined> => {
    const [row] = await FIND_TOKEN.rows(database, { hash })
    if (row === undefined) return undefined
    const issued = restoreToken(row)
    cache.set(hash, issued)
    return { ...row, issued }
  }
  return {
    async findToken(tokenHash, nowMs) {
      const kept = cache.get(tokenHash)
      if (kept !== undefined) {
        const row = await lookUpActive(bytesText(tokenHash))
        if (row === undefined) return undefined
        if (row.grantUpdatedAt.getTime() === kept.access.grantUpdatedAtMs) return toRecord(kept, row, nowMs)
      }
      const found = await read(tokenHash)
      return found && toRecord(found.issued, found, nowMs)
    },
    accessOf: async (tokenHash, sinceMs) => {
      const kept = cache.get(tokenHash)
      const isKept = kept !== undefined && kept.access.grantUpdatedAtMs >= (sinceMs ?? 0)
      return (isKept ? kept : (await read(tokenHash))?.issued)?.access
    }
  }
}

function toRecord(
  { afterPayments, ...issued }: IssuedToken,
  { active, clientFrozen, grantPaused }: ActiveRow,
  nowMs: number
): TokenRecord {
  const { expiresAtMs } = issued
  const isAfter = afterPayments !== undefined && afterPayments.fromMs <= nowMs
  return {
    ...issued,
    access: isAfter ? afterPayments.access : issued.access,
    holdsUntilMs: isAfter ? expiresAtMs : Math.min(expiresAtMs, afterPayments?.fromMs ?? expiresAtMs),
    active: active && expiresAtMs > nowMs,
    clientFrozen,
    grantPaused
  }
}

function restoreToken(row: TokenRow): IssuedToken {
  const access = {
    grantId: row.grantId,
    grantUpdatedAtMs: row.grantUpdatedAt.getTime(),
    items: row.access.map(restoreGrantedItem)
  }
  const left = accessAfterPayments(access.items)
  const fromMs = left === access.items ? undefined : payableUntilMs(access.items)
  return {
    expiresAtMs: row.expiresAt.getTime(),
    client: restoreHolder(row),
    access,
    afterPayments: fromMs === undefined ? undefined : { fromMs, access: { ...access, items: left } },
    consentedWalletAddress: row.consentedWalletAddress ?? undefined
  }
}

interface ManagedRow extends StoredHolder {
  readonly id: string
  readonly secretHash: string
}

/** One statement for all that arrive together: Prisma's models would send two, and read grants past their module. */
const FIND_MANAGED = new Statement<ManagedRow>(
  'find-managed-tokens',
  Prisma.sql`
  select t.id, t.value_hash as "secretHash", ${HOLDER_COLUMNS}
    from access_token t cross join ${grantByKey(Prisma.sql`t.grant_id`)}
   where t.id = any (${placeholder('ids')}::uuid[])`
)

/**
 * Finds tokens that clients manage, active or not, by their management ids (UUID), batching concurrent lookups into one
 * statement.
 */
export function createManagedTokens({
  database
}: {
  readonly database: Queries
}): (id: string) => Promise<ManagedToken | undefined> {
  const lookUp = createLookup((ids) => FIND_MANAGED.rows(database, { ids }))
  return async (id) => {
    const row = await lookUp(id)
    return row && { id, secretHash: readBytes(row.secretHash), holder: restoreHolder(row) }
  }
}
