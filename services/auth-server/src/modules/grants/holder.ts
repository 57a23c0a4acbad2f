import type { BoundClient } from '../../domain/clients.js'
import { Prisma } from '../database.js'

/** The columns that a {@link StoredHolder} is made of, of a grant `g`. */
export const HOLDER_COLUMNS = Prisma.sql`
  g.client_wallet_address as "clientWalletAddress", g.client_jwk_thumbprint as "clientJwkThumbprint",
  g.key_id as "keyId", g.key_x as "keyX"`

/** The holder of a grant, as the database keeps it. */
export interface StoredHolder {
  readonly clientWalletAddress: string | null
  readonly clientJwkThumbprint: string | null
  readonly keyId: string
  readonly keyX: string
}

/** The holder of a grant, put together again. */
export function restoreHolder(stored: StoredHolder): BoundClient {
  return {
    walletAddress: stored.clientWalletAddress ?? undefined,
    jwkThumbprint: stored.clientJwkThumbprint ?? undefined,
    keyId: stored.keyId,
    keyX: stored.keyX
  }
}
