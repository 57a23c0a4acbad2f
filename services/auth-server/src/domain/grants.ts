import type { AccessItemWire } from './access.js'
import type { BoundClient } from './clients.js'

/** State of a grant: RFC 9635 §1.5, where `finalized` is told apart by how it ended. */
export type GrantState = 'pending' | 'approved' | 'issued' | 'rejected' | 'revoked'

/** State of an interaction, spelled as identity providers read it. */
export type InteractionState = 'PENDING' | 'APPROVED' | 'DENIED'

/** What is asked to be told about the account holder (RFC 9635 §2.2). */
export interface SubjectRequest {
  readonly sub_ids: readonly { readonly id: string; readonly format: 'uri' }[]
}

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

/** An access token as clients are told of it (interface 2.3). */
export interface AccessTokenWire {
  value: string
  manage: string
  expires_in: number
  access: readonly AccessItemWire[]
}

/** How a grant is continued (interface 2.2). */
export interface ContinueWire {
  access_token: { value: string }
  uri: string
  wait?: number
}
