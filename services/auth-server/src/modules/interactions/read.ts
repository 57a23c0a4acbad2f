import { isUuid } from '@open-payments-server/value-types/identifiers'
import type { ContinuedGrant } from '../../domain/continuation.js'
import type { InteractionReader, InteractionRecord } from '../../domain/interactions.js'
import { isSameSecret } from '../../domain/secrets.js'
import { Prisma, type Queries } from '../database.js'
import { GRANT_WITH_ACCESS, restoreGrantOfInteraction } from '../grants/index.js'

const WITH_GRANT = { include: { grant: GRANT_WITH_ACCESS } } as const satisfies Prisma.InteractionDefaultArgs

type InteractionRow = Prisma.InteractionGetPayload<typeof WITH_GRANT>

/** Finds interactions in the database. */
export function createInteractionReader({ database }: { readonly database: Queries }): InteractionReader {
  return {
    async find(id, nonce) {
      if (!isUuid(id)) return undefined
      const row = await database.interaction.findUnique({ where: { id }, ...WITH_GRANT })
      return row === null || !isSameSecret(nonce, row.nonce) ? undefined : restoreInteraction(row)
    }
  }
}

function restoreInteraction(row: InteractionRow): InteractionRecord {
  const { id, walletAddress, nonce, reference, state, expiresAt, browserHash, finishCodeHash, grant } = row
  return {
    id,
    walletAddress,
    nonce,
    reference,
    state,
    expiresAtMs: expiresAt.getTime(),
    browserHash: browserHash ?? undefined,
    finishCodeHash: finishCodeHash ?? undefined,
    grant: restoreGrantOfInteraction(grant)
  }
}

/** The fields that a continuation depends on: the columns of {@link InteractionOfGrantRow}, from {@link interactionOf}. */
export const INTERACTION_OF_GRANT_COLUMNS = Prisma.sql`i.reference, i.expires_at as "expiresAt"`

/** The interaction of a grant; nulls for a grant that needed none. */
export interface InteractionOfGrantRow {
  readonly reference: string | null
  readonly expiresAt: Date | null
}

/** Restores the interaction of a grant from its {@link INTERACTION_OF_GRANT_COLUMNS}; undefined when there is none. */
export function restoreInteractionOfGrant({
  reference,
  expiresAt
}: InteractionOfGrantRow): ContinuedGrant['interaction'] {
  return reference === null || expiresAt === null
    ? undefined
    : { reference, expiresAtMs: expiresAt.getTime() }
}

/**
 * Joins the interaction `i` of a grant, if there is one.
 *
 * @param grantId names the grant's id
 * @param grantIds an array of ids that includes it: repeated here, so that each is looked up by its index
 */
export function interactionOf(grantId: Prisma.Sql, grantIds: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`left join interaction i on i.grant_id = ${grantId} and i.grant_id = any(${grantIds})`
}

/**
 * Selects the URL of the wallet address whose account holder consented to a grant; null when nobody did.
 *
 * @param grantId names the grant's id
 */
export function consentedWalletAddressOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(select i.wallet_address from interaction i where i.grant_id = ${grantId} and i.state = 'APPROVED')`
}

/**
 * Joins the end of a grant's interaction, if there is one, to be read by {@link INTERACTION_EXPIRY}, {@link IS_CONSENTED} and
 * {@link byInteraction}. Limited, so that it is looked up by its index and not joined with a table that is read as a whole.
 *
 * @param grantId names the grant's id
 */
export function interactionEndOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  left join lateral (
    select state, expires_at from interaction where grant_id = ${grantId} limit 1) interaction_end on true`
}

/** When the interaction of {@link interactionEndOf} expires. */
export const INTERACTION_EXPIRY = Prisma.sql`interaction_end.expires_at`

/** Whether the account holder consented in the interaction of {@link interactionEndOf}. */
export const IS_CONSENTED = Prisma.sql`interaction_end.state = 'APPROVED'`

/** One of several values, by what became of the interaction of {@link interactionEndOf}. */
export function byInteraction(values: {
  /** There is no interaction. */
  readonly none: Prisma.Sql
  /** The account holder did not answer. */
  readonly undecided: Prisma.Sql
  readonly decided: Prisma.Sql
}): Prisma.Sql {
  return Prisma.sql`
  case when interaction_end.state is null then ${values.none}
       when interaction_end.state = 'PENDING' then ${values.undecided}
       else ${values.decided} end`
}

/** The interactions in which account holders consented: `grant_id`, `wallet_address`. */
export const CONSENTED = Prisma.sql`(select grant_id, wallet_address from interaction where state = 'APPROVED')`
