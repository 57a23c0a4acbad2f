import { isUuid } from '@open-payments-server/runtime'
import { type AccessItem, restoreAccessItem } from '../../domain/access.js'
import type { SubjectRequest } from '../../domain/grants.js'
import type { FinishRequest, InteractionReader, InteractionRecord } from '../../domain/interactions.js'
import { isSameSecret } from '../../domain/secrets.js'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.js'

/** Finds interactions in PostgreSQL. */
export function createInteractionReader(prisma: PrismaClient): InteractionReader {
  return {
    async find(id, nonce) {
      if (!isUuid(id)) return undefined
      const row = await prisma.interaction.findUnique({ where: { id }, include: INCLUDED })
      return row === null || !isSameSecret(nonce, row.nonce) ? undefined : restoreInteraction(row)
    }
  }
}

const INCLUDED = {
  grant: { include: { accessItems: { orderBy: { position: 'asc' } } } }
} as const satisfies Prisma.InteractionInclude

type InteractionRow = Prisma.InteractionGetPayload<{ include: typeof INCLUDED }>

function restoreInteraction(row: InteractionRow): InteractionRecord {
  const { id, walletAddress, nonce, reference, state, expiresAt, browserHash, finishCodeHash, grant } = row
  const client = grant.clientWalletAddress ?? ''
  return {
    id,
    walletAddress: walletAddress ?? undefined,
    nonce,
    reference,
    state,
    expiresAt,
    browserHash: browserHash ?? undefined,
    finishCodeHash: finishCodeHash ?? undefined,
    grant: {
      id: grant.id,
      state: grant.state,
      // A replica of the release before says nothing of it when it approves.
      continueBefore: grant.continueBefore ?? expiresAt,
      client,
      clientName: grant.clientName ?? client,
      access: grant.accessItems.map(restoreItem),
      subject: (grant.subject ?? undefined) as SubjectRequest | undefined, // only validated subjects are stored
      finish: restoreFinish(grant)
    }
  }
}

function restoreItem(item: InteractionRow['grant']['accessItems'][number]): AccessItem {
  const { limitDebitValue, limitReceiveValue } = item
  return restoreAccessItem({
    ...item,
    limitDebitValue: limitDebitValue?.toFixed(0) ?? null,
    limitReceiveValue: limitReceiveValue?.toFixed(0) ?? null
  })
}

function restoreFinish(grant: InteractionRow['grant']): FinishRequest | undefined {
  const { finishUri, finishNonce, finishHashMethod } = grant
  if (finishUri === null || finishNonce === null) return undefined
  return { uri: finishUri, nonce: finishNonce, hashMethod: finishHashMethod ?? undefined }
}
