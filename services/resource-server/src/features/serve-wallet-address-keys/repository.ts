import type { Pool } from 'pg'

/** A key that the holder of a wallet address signs requests with. */
export interface ClientKey {
  readonly kid: string
  /** Base64url-encoded Ed25519 public key. */
  readonly x: string
}

/** Reads the keys of wallet addresses. */
export interface ClientKeyReader {
  /** The keys of a wallet address that are not revoked, oldest first; undefined when there is no such wallet address. */
  findKeys(path: string): Promise<readonly ClientKey[] | undefined>
}

/** Reads keys from the database: one statement tells a wallet address without keys from none. */
export function createClientKeyReader(pool: Pool): ClientKeyReader {
  return {
    async findKeys(path) {
      const { rows } = await pool.query<{ kid: string | null; x: string | null }>({
        name: 'wallet-address-keys',
        text: `select k.kid, k.x
                 from wallet_address w
                 left join client_key k on k.wallet_address_id = w.id and k.revoked_at is null
                where w.path = $1
                order by k.created_at, k.kid`,
        values: [path]
      })
      if (rows.length === 0) return undefined
      return rows.flatMap(({ kid, x }) => (kid === null || x === null ? [] : [{ kid, x }]))
    }
  }
}
