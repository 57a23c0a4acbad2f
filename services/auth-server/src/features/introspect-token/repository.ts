import { parseRepeatingInterval } from '@open-payments-server/intervals'
import type pg from 'pg'
import { restoreAccessItem, type StoredAccessItem } from '../../domain/access.js'
import type {
  GrantedAccessItem,
  TokenAccess,
  TokenAccessCache,
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

/**
 * Every request of every client asks for its token, so this is one statement, prepared on the pool: Prisma would send two
 * (the token with its grant, then the access items) and takes about twice the time for each.
 */
const FIND_TOKEN = `
  select t.grant_id, t.expires_at, t.ended_at is null and t.expires_at > $2 and g.state = 'issued' as active,
         g.client_wallet_address, g.client_jwk_thumbprint, g.key_id, g.key_x,
         (select coalesce(json_agg(json_build_object(
                   'id', a.id, 'type', a.type, 'actions', a.actions, 'identifier', a.identifier,
                   'limitReceiver', a.limit_receiver, 'limitInterval', a.limit_interval,
                   'limitDebitValue', a.limit_debit_value::text, 'limitDebitCode', a.limit_debit_code,
                   'limitDebitScale', a.limit_debit_scale,
                   'limitReceiveValue', a.limit_receive_value::text, 'limitReceiveCode', a.limit_receive_code,
                   'limitReceiveScale', a.limit_receive_scale) order by a.position), '[]'::json)
            from access_item a where a.grant_id = t.grant_id) as access
    from access_token t
    join grant_request g on g.id = t.grant_id
   where t.value_hash = $1`

interface TokenRow {
  readonly grant_id: string
  readonly expires_at: Date
  readonly active: boolean
  readonly client_wallet_address: string | null
  readonly client_jwk_thumbprint: string | null
  readonly key_id: string
  readonly key_x: string
  readonly access: readonly (StoredAccessItem & { readonly id: string })[]
}

/** @param cache is filled with what the tokens that are found allow */
export function createTokenRepository(pool: pg.Pool, cache: TokenAccessCache): TokenRepository {
  return {
    async findToken(tokenHash, now) {
      const { rows } = await pool.query<TokenRow>({
        name: 'find-token',
        text: FIND_TOKEN,
        values: [tokenHash, now]
      })
      const [row] = rows
      if (row === undefined) return undefined
      const access = cache.get(tokenHash) ?? restoreAccess(row)
      cache.set(tokenHash, access)
      return {
        active: row.active,
        expiresAt: row.expires_at,
        client: {
          walletAddress: row.client_wallet_address ?? undefined,
          jwkThumbprint: row.client_jwk_thumbprint ?? undefined,
          keyId: row.key_id,
          keyX: row.key_x
        },
        access
      }
    }
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
