import { instantText, placeholder } from '@open-payments-server/database'
import { Prisma, type Queries } from '../database.js'

/** An interaction to be written: it begins undecided. */
export interface NewInteraction {
  readonly id: string
  readonly grantId: string
  /** URL of the wallet address whose account holder must consent. */
  readonly walletAddress: string
  /** The server's nonce. */
  readonly nonce: string
  /** `interact_ref` */
  readonly reference: string
  readonly expiresAtMs: number
}

/**
 * Writes the interactions of {@link newInteractionValues}.
 *
 * @param where which of them: by `"grantId"`
 */
export const insertedInteractions = (where: Prisma.Sql): Prisma.Sql => Prisma.sql`
  inserted_interaction as (
    insert into interaction (id, grant_id, wallet_address, nonce, reference, state, expires_at)
    select id, "grantId", "walletAddress", nonce, reference, 'PENDING', "expiresAt"
      from jsonb_to_recordset(${placeholder('interactions')}::jsonb) as new (
        id uuid, "grantId" uuid, "walletAddress" text, nonce text, reference text, "expiresAt" timestamptz)
    ${where})`

/** The value of {@link insertedInteractions}. */
export function newInteractionValues(interactions: readonly NewInteraction[]): {
  readonly interactions: string
} {
  return { interactions: JSON.stringify(interactions.map(toRecord)) }
}

function toRecord({ expiresAtMs, ...interaction }: NewInteraction): object {
  return { ...interaction, expiresAt: instantText(expiresAtMs) }
}

/**
 * The interaction of the value `interactionId`, if its account holder can still decide: `open_interaction (grant_id)`. The
 * grant's row decides between racing decisions, and the interaction always agrees with it.
 */
export const openInteraction = Prisma.sql`
  open_interaction as (
    select grant_id from interaction
     where id = ${placeholder('interactionId')}::uuid and state = 'PENDING' and expires_at > ${placeholder('now')}::timestamptz)`

/**
 * Approves the interactions of `approved_grant (grant_id)`; the value `finishCodeHash` is null when no code was issued, and the value
 * `needsConsentRecord` notes whether the consent counts only with its record.
 */
export const approvedInteractions = Prisma.sql`
  approved_interaction as (
    update interaction i
       set state = 'APPROVED', finish_code_hash = ${placeholder('finishCodeHash')}::bytea,
           needs_consent_record = ${placeholder('needsConsentRecord')}::boolean
      from approved_grant a where i.grant_id = a.grant_id)`

/** Denies the interactions of those of `ended_grant (grant_id, state)` that their account holders rejected. */
export const deniedInteractions = Prisma.sql`
  denied_interaction as (
    update interaction i set state = 'DENIED'
      from ended_grant e where i.grant_id = e.grant_id and e.state = 'rejected')`

/**
 * Records which browser opened an interaction first.
 *
 * @param browserHash SHA-256 of the cookie it is given
 * @returns whether it was this one: false when another was first
 */
export async function bindBrowser(on: Queries, interactionId: string, browserHash: Buffer): Promise<boolean> {
  // The row decides between racing browsers: it is changed only if no browser is recorded.
  const { count } = await on.interaction.updateMany({
    where: { id: interactionId, browserHash: null },
    data: { browserHash: Uint8Array.from(browserHash) }
  })
  return count === 1
}
