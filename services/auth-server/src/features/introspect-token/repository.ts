import { createLookup } from '@open-payments-server/database'
import { parseRepeatingInterval } from '@open-payments-server/intervals'
import type pg from 'pg'
import {
  type ConfiguredInteraction,
  findConsentingWalletAddress,
  restoreAccessItem,
  selectAccess,
  type StoredAccessItem
} from '../../domain/access.js'
import type { SubjectRequest } from '../../domain/grants.js'
import type {
  GrantedAccessItem,
  IssuedToken,
  TokenAccess,
  TokenCache,
  TokenRecord
} from '../../domain/token-record.js'

/** What is known of tokens. */
export interface TokenRepository {
  /**
   * Reads a token.
   *
   * @param tokenHash SHA-256 of its value
   * @param now when it must not have expired yet to be active
   * @returns undefined when it was not issued here
   */
  findToken(tokenHash: Buffer, now: Date): Promise<TokenRecord | undefined>
}

/** Whether the token may be used until it expires. */
const ACTIVE = `t.ended_at is null and g.state = 'issued'`

/**
 * Every request of every client asks for its token, so this is one statement, prepared on the pool: Prisma would send two
 * (the token with its grant, then the access items) and takes about twice the time for each.
 */
const FIND_TOKEN = `
  select ${ACTIVE} as active, t.grant_id, t.expires_at,
         g.client_wallet_address, g.client_jwk_thumbprint, g.key_id, g.key_x, g.subject,
         coalesce((select i.state = 'APPROVED' from interaction i where i.grant_id = g.id), false) as consented,
         ${selectAccess('t.grant_id')} as access
    from access_token t
    join grant_request g on g.id = t.grant_id
   where t.value_hash = $1`

/** For tokens that were read before, by their hashes: all that can change. */
const FIND_ACTIVE = `
  select '\\x' || encode(t.value_hash, 'hex') as id, ${ACTIVE} as active
    from access_token t
    join grant_request g on g.id = t.grant_id
   where t.value_hash = any($1::bytea[])`

interface ActiveRow {
  readonly active: boolean
}

interface TokenRow extends ActiveRow {
  readonly grant_id: string
  readonly expires_at: Date
  readonly client_wallet_address: string | null
  readonly client_jwk_thumbprint: string | null
  readonly key_id: string
  readonly key_x: string
  readonly subject: SubjectRequest | null
  readonly consented: boolean
  readonly access: readonly (StoredAccessItem & { readonly id: string })[]
}

/** What reading tokens needs. */
export interface TokenRepositoryDependencies {
  readonly pool: pg.Pool
  /** Is filled with the tokens that are found. */
  readonly cache: TokenCache
  /** Tells which items of a grant its account holder was asked about. */
  readonly configuredInteraction: ConfiguredInteraction
}

export function createTokenRepository({
  pool,
  cache,
  configuredInteraction
}: TokenRepositoryDependencies): TokenRepository {
  const lookUpActive = createLookup(async (ids) => {
    const statement = { name: 'find-active', text: FIND_ACTIVE, values: [ids] }
    return (await pool.query<ActiveRow & { id: string }>(statement)).rows
  })
  return {
    async findToken(tokenHash, now) {
      const kept = cache.get(tokenHash)
      if (kept !== undefined) {
        const row = await lookUpActive(`\\x${tokenHash.toString('hex')}`)
        return row && toRecord(kept, row, now)
      }
      const values = [tokenHash]
      const { rows } = await pool.query<TokenRow>({ name: 'find-token', text: FIND_TOKEN, values })
      const [row] = rows
      if (row === undefined) return undefined
      const issued = restoreToken(row, configuredInteraction)
      cache.set(tokenHash, issued)
      return toRecord(issued, row, now)
    }
  }
}

function toRecord(issued: IssuedToken, { active }: ActiveRow, now: Date): TokenRecord {
  return { ...issued, active: active && issued.expiresAt > now }
}

function restoreToken(row: TokenRow, configuredInteraction: ConfiguredInteraction): IssuedToken {
  const access = restoreAccess(row)
  const asked = { access: access.items, subject: row.subject ?? undefined }
  return {
    expiresAt: row.expires_at,
    client: {
      walletAddress: row.client_wallet_address ?? undefined,
      jwkThumbprint: row.client_jwk_thumbprint ?? undefined,
      keyId: row.key_id,
      keyX: row.key_x
    },
    access,
    consentedWalletAddress: row.consented
      ? findConsentingWalletAddress(asked, configuredInteraction)
      : undefined
  }
}

function restoreAccess(row: TokenRow): TokenAccess {
  return { grantId: row.grant_id, items: row.access.map(restoreGrantedItem) }
}

function restoreGrantedItem(stored: StoredAccessItem & { readonly id: string }): GrantedAccessItem {
  const { limitInterval } = stored
  const interval = limitInterval === null ? undefined : parseRepeatingInterval(limitInterval)
  return { ...restoreAccessItem(stored), id: stored.id, interval }
}
