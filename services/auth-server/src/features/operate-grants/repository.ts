import { type AccessItem, restoreAccessItem } from '../../domain/access.js'
import type { PageEnd } from '../../domain/page-token.js'
import type { GrantState, Prisma, PrismaClient } from '../../generated/prisma/client.js'

/** A grant as operators see it. */
export interface OperatedGrant {
  readonly id: string
  readonly state: GrantState
  readonly clientWalletAddress: string | null
  readonly clientJwkThumbprint: string | null
  readonly access: readonly AccessItem[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Which grants to list. */
export interface GrantQuery {
  /** Only those with an access item about this wallet address. */
  readonly identifier: string | undefined
  /** Only those of this client. */
  readonly clientWalletAddress: string | undefined
  /** Only those in this state. */
  readonly state: GrantState | undefined
  /** Only those after this one. */
  readonly after: PageEnd | undefined
  readonly count: number
}

/** What operators do with grants. */
export interface GrantRepository {
  /** Newest first. */
  list(query: GrantQuery): Promise<OperatedGrant[]>
  /**
   * Revokes a grant and its living token, whatever state the grant is in.
   *
   * @returns undefined for an unknown grant
   */
  revoke(grantId: string, now: Date): Promise<OperatedGrant | undefined>
}

const WITH_ACCESS = { accessItems: { orderBy: { position: 'asc' } } } satisfies Prisma.GrantInclude

export function createGrantRepository(prisma: PrismaClient): GrantRepository {
  return {
    async list(query) {
      const grants = await prisma.grant.findMany({
        where: conditionOf(query),
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: query.count,
        include: WITH_ACCESS
      })
      return grants.map(operatedGrantOf)
    },

    async revoke(grantId, now) {
      // The grant first: an issuing or rotation that is under way holds its row, and its new token is seen and ended here.
      const [, , grant] = await prisma.$transaction([
        prisma.grant.updateMany({
          where: { id: grantId, state: { not: 'revoked' } },
          data: { state: 'revoked', updatedAt: now }
        }),
        prisma.accessToken.updateMany({
          where: { grantId, endedAt: null },
          data: { endedAt: now, endReason: 'revoked' }
        }),
        prisma.grant.findUnique({ where: { id: grantId }, include: WITH_ACCESS })
      ])
      return grant === null ? undefined : operatedGrantOf(grant)
    }
  }
}

function conditionOf({ identifier, clientWalletAddress, state, after }: GrantQuery): Prisma.GrantWhereInput {
  return {
    ...(identifier === undefined ? {} : { accessItems: { some: { identifier } } }),
    ...(clientWalletAddress === undefined ? {} : { clientWalletAddress }),
    ...(state === undefined ? {} : { state }),
    ...(after === undefined
      ? {}
      : {
          // The first condition alone lets the index skip what comes before; the second is exact.
          createdAt: { lte: after.createdAt },
          OR: [{ createdAt: { lt: after.createdAt } }, { id: { lt: after.id } }]
        })
  }
}

function operatedGrantOf(grant: Prisma.GrantGetPayload<{ include: typeof WITH_ACCESS }>): OperatedGrant {
  const { id, state, clientWalletAddress, clientJwkThumbprint, createdAt, updatedAt } = grant
  const access = grant.accessItems.map((item) =>
    restoreAccessItem({
      ...item,
      // Prisma's decimals print large numbers with an exponent unless asked for fixed notation.
      limitDebitValue: item.limitDebitValue?.toFixed() ?? null,
      limitReceiveValue: item.limitReceiveValue?.toFixed() ?? null
    })
  )
  return { id, state, clientWalletAddress, clientJwkThumbprint, access, createdAt, updatedAt }
}
