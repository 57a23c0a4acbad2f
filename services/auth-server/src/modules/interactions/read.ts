import { isUuid } from '@open-payments-server/value-types/identifiers'
import type { SubjectRequest } from '../../domain/grants.js'
import type { FinishRequest, InteractionReader, InteractionRecord } from '../../domain/interactions.js'
import { isSameSecret } from '../../domain/secrets.js'
import { Prisma, type Queries } from '../database.js'
import { GRANT_WITH_ACCESS, restoreAccess } from '../grants/index.js'

const WITH_GRANT = { include: { grant: GRANT_WITH_ACCESS } } as const satisfies Prisma.InteractionDefaultArgs

type InteractionRow = Prisma.InteractionGetPayload<typeof WITH_GRANT>

/** Finds interactions in the database. */
export function createInteractionReader(on: Queries): InteractionReader {
  return {
    async find(id, nonce) {
      if (!isUuid(id)) return undefined
      const row = await on.interaction.findUnique({ where: { id }, ...WITH_GRANT })
      return row === null || !isSameSecret(nonce, row.nonce) ? undefined : restoreInteraction(row)
    }
  }
}

function restoreInteraction(row: InteractionRow): InteractionRecord {
  const { id, walletAddress, nonce, reference, state, expiresAt, browserHash, finishCodeHash, grant } = row
  const client = grant.clientWalletAddress ?? ''
  return {
    id,
    walletAddress,
    nonce,
    reference,
    state,
    expiresAtMs: expiresAt.getTime(),
    browserHash: browserHash ?? undefined,
    finishCodeHash: finishCodeHash ?? undefined,
    grant: {
      id: grant.id,
      state: grant.state,
      continueBeforeMs: grant.continueBefore?.getTime(),
      client,
      clientName: grant.clientName ?? client,
      access: restoreAccess(grant),
      subject: (grant.subject ?? undefined) as SubjectRequest | undefined, // only validated subjects are stored
      finish: restoreFinish(grant)
    }
  }
}

function restoreFinish(grant: InteractionRow['grant']): FinishRequest | undefined {
  const { finishUri, finishNonce, finishHashMethod } = grant
  if (finishUri === null || finishNonce === null) return undefined
  return { uri: finishUri, nonce: finishNonce, hashMethod: finishHashMethod ?? undefined }
}

/** The fields that a continuation depends on: the columns of {@link InteractionOfGrantRow}, from {@link interactionOf}. */
export const INTERACTION_OF_GRANT_COLUMNS = Prisma.sql`i.reference, i.expires_at as "expiresAt"`

/** The interaction of a grant; nulls for a grant that needed none. */
export interface InteractionOfGrantRow {
  readonly reference: string | null
  readonly expiresAt: Date | null
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
 * Joins the result of a grant's interaction, if there is one: `interaction_state` and `interaction_expires_at`. Limited, so
 * that it is looked up by its index and not joined with a table that is read as a whole.
 *
 * @param grantId names the grant's id
 */
export function interactionEndOf(grantId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
  left join lateral (
    select state as interaction_state, expires_at as interaction_expires_at
      from interaction where grant_id = ${grantId} limit 1) interaction_end on true`
}
