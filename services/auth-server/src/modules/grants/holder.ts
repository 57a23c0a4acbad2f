import type { BoundClient } from '../../domain/clients.js'
import { Prisma } from '../database.js'

/** The columns of a {@link StoredHolder}, from a grant `g`. */
export const HOLDER_COLUMNS = Prisma.sql`
  g.client_wallet_address as "clientWalletAddress", g.client_jwk_thumbprint as "clientJwkThumbprint",
  g.key_id as "keyId", g.key_x as "keyX"`

/** The token holder of a grant, as stored in the database. */
export interface StoredHolder {
  readonly clientWalletAddress: string | null
  readonly clientJwkThumbprint: string | null
  readonly keyId: string
  readonly keyX: string
}

/** Converts the token holder of a grant from the database. */
export function restoreHolder(stored: StoredHolder): BoundClient {
  return {
    walletAddress: stored.clientWalletAddress ?? undefined,
    jwkThumbprint: stored.clientJwkThumbprint ?? undefined,
    keyId: stored.keyId,
    keyX: stored.keyX
  }
}
