import { placeholder } from '@open-payments-server/database'
import type { AllowedState } from '../../domain/allowed-grants.js'
import type { GrantState } from '../../domain/grants.js'
import { Prisma } from '../database.js'
import { accessOf, type StoredAccessItem } from './access-items.js'
import { consentedTermsOf, type StoredTerms } from './acts.js'

/**
 * The state of a grant `g` that was consented to, as its account holder sees it at the value `now`: over only when none of its tokens is
 * active any more, and not already when nothing can be paid.
 */
const ALLOWED_STATE = Prisma.sql`
  case when g.state in ('rejected', 'revoked')
            or least(g.ends_at, g.continue_before) <= ${placeholder('now')}::timestamptz then 'ended'
       when g.paused_at is not null then 'paused'
       else 'in-force' end`

/** Fragment, a condition: whether a grant `g` is in the state of the value `state`; in any if that is null. */
export const isAllowedState = Prisma.sql`
  (${placeholder('state')}::text is null or ${ALLOWED_STATE} = ${placeholder('state')}::text)`

/** What an account holder sees of a grant `g` at the value `now`: the columns of {@link AllowedRow}. */
export const ALLOWED_COLUMNS = Prisma.sql`
  g.id, g.state, ${ALLOWED_STATE} as "allowedState", g.client_wallet_address as "clientWalletAddress",
  g.client_jwk_thumbprint as "clientJwkThumbprint", g.client_name as "clientName", g.created_at as "createdAt",
  g.updated_at as "updatedAt", g.paused_at as "pausedAt", g.ends_at as "endsAt",
  case when g.state = 'revoked' then g.updated_at else g.ends_at end as "endedAt", g.payable_until as "payableUntil",
  ${accessOf(Prisma.sql`g.id`)} as access, ${consentedTermsOf(Prisma.sql`g.id`)} as "consentedTerms"`

/** What an account holder sees of a grant. */
export interface AllowedRow {
  readonly id: string
  readonly state: GrantState
  readonly allowedState: AllowedState
  readonly clientWalletAddress: string | null
  readonly clientJwkThumbprint: string | null
  readonly clientName: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly pausedAt: Date | null
  /** From when on no token of it is active: as an account holder set it, or when nothing is left of it. */
  readonly endsAt: Date | null
  /** The same, or when it was revoked. */
  readonly endedAt: Date | null
  /** From when on nothing can be paid, because the last interval is over. */
  readonly payableUntil: Date | null
  readonly access: readonly (StoredAccessItem & { readonly id: string })[]
  /** As it was consented to; null if it was never lowered. */
  readonly consentedTerms: StoredTerms | null
}
