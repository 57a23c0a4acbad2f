import type { AccessItemWire } from './access.js'

/** State of a grant: RFC 9635 §1.5, with `finalized` split by how it ended. */
export type GrantState = 'pending' | 'approved' | 'issued' | 'rejected' | 'revoked'

/** State of an interaction, spelled as identity providers read it. */
export type InteractionState = 'PENDING' | 'APPROVED' | 'DENIED'

/** Subject information that is requested about the account holder (RFC 9635 §2.2). */
export interface SubjectRequest {
  readonly sub_ids: readonly { readonly id: string; readonly format: 'uri' }[]
}

/** An access token in an answer to its client (interface 2.3). */
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
