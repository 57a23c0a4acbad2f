import type { Holder } from '../../domain/holder.js'
import { Prisma, type Queries } from '../database.js'

/** Fragment: the columns `name` and `HolderColumns` of an account `a`, joined by `accountById`. */
export const ACCOUNT_HOLDER = Prisma.sql`
  a.name, a.holder_issuer as "holderIssuer", a.holder_sub as "holderSub"`

/**
 * Says who holds a wallet account.
 *
 * @param holder undefined for nobody
 * @returns whether this call changed it: false when it was so already, or there is no such account
 */
export async function setHolder(on: Queries, name: string, holder: Holder | undefined): Promise<boolean> {
  const differs =
    holder === undefined
      ? { holderIssuer: { not: null } }
      : {
          OR: [
            { holderIssuer: null },
            { holderIssuer: { not: holder.issuer } },
            { holderSub: { not: holder.sub } }
          ]
        }
  const { count } = await on.account.updateMany({
    where: { name, kind: 'wallet', ...differs },
    data: { holderIssuer: holder?.issuer ?? null, holderSub: holder?.sub ?? null }
  })
  return count === 1
}
