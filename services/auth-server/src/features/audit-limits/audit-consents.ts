import { isDeepStrictEqual } from 'node:util'
import { formatAccessItem } from '../../domain/access.js'
import { isSameAccess } from '../../domain/lowering.js'
import type { GrantedAccessItem } from '../../domain/token-record.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { accessOf, restoreGrantedItem, type StoredTerms } from '../../modules/grants/index.js'

/** Grants whose consent is recorded, or that were lowered. Read by a cursor: there may be as many as grants. */
const OPEN = Prisma.sql`
  declare consented_grant no scroll cursor for
  select g.id as grant_id, c.document, ${accessOf(Prisma.sql`g.id`)} as access, i.wallet_address, g.client_wallet_address,
         (select json_agg(json_build_object('id', act.id, 'before', act.before, 'after', act.after) order by act.at)
            from grant_act act where act.grant_id = g.id and act.kind = 'lowered') as lowerings
    from grant_request g
    left join consent_record c on c.grant_id = g.id
    left join interaction i on i.grant_id = g.id
   where c.grant_id is not null or exists (select 1 from grant_act act where act.grant_id = g.id and act.kind = 'lowered')`

/** Number of grants read at a time. */
const PAGE_SIZE = 1_000

const NEXT = Prisma.raw(`fetch ${String(PAGE_SIZE)} from consented_grant`)

interface ConsentedGrant {
  readonly grant_id: string
  readonly document: string | null
  readonly access: StoredTerms['access']
  readonly wallet_address: string | null
  readonly client_wallet_address: string | null
  readonly lowerings: readonly { id: string; before: StoredTerms; after: StoredTerms }[] | null
}

/**
 * Finds grants that allow something else than their consent record says, as lowered since; and limits that were raised after a
 * lowering. What is spent is compared with what a grant allows elsewhere.
 */
export async function findWrongConsents(snapshot: Queries, violationsMax: number): Promise<string[]> {
  const violations: string[] = []
  await snapshot.$executeRaw(OPEN)
  for (;;) {
    const page = await snapshot.$queryRaw<ConsentedGrant[]>(NEXT)
    violations.push(...page.flatMap(findWrong))
    if (page.length < PAGE_SIZE || violations.length >= violationsMax) break
  }
  return violations.slice(0, Math.max(0, violationsMax))
}

function findWrong(grant: ConsentedGrant): string[] {
  const name = `Grant ${grant.grant_id}`
  const lowerings = grant.lowerings ?? []
  const current = grant.access.map(restoreGrantedItem)
  const found: string[] = []
  lowerings.forEach(({ id, before, after }, index) => {
    const next = lowerings[index + 1]?.before.access.map(restoreGrantedItem) ?? current
    const [was, is] = [before.access.map(restoreGrantedItem), after.access.map(restoreGrantedItem)]
    if (!isLower(was, is)) found.push(`${name}: act ${id} raised a limit`)
    if (!isSameAccess(is, next) || is.length !== next.length)
      found.push(`${name}: its limits are not those that act ${id} left`)
  })
  if (grant.document !== null) {
    const consented = lowerings[0]?.before.access.map(restoreGrantedItem) ?? current
    found.push(...findOtherTerms(name, grant, grant.document, consented))
  }
  return found
}

function isLower(was: readonly GrantedAccessItem[], is: readonly GrantedAccessItem[]): boolean {
  return is.every(({ limits }, index) => {
    const before = was[index]?.limits
    return (['debitAmount', 'receiveAmount'] as const).every((member) => {
      const limit = before?.[member]
      return limit === undefined || (limits?.[member]?.value ?? limit.value + 1n) <= limit.value
    })
  })
}

function findOtherTerms(
  name: string,
  { wallet_address, client_wallet_address }: ConsentedGrant,
  text: string,
  consented: readonly GrantedAccessItem[]
): string[] {
  const { access, walletAddress, client } = JSON.parse(text) as Partial<Record<string, unknown>>
  const found: string[] = []
  if (!isDeepStrictEqual(access, consented.map(formatAccessItem)))
    found.push(`${name}: it was granted other access than its consent record says`)
  if (walletAddress !== wallet_address)
    found.push(
      `${name}: its consent record is of ${String(walletAddress)}, and ${String(wallet_address)} was asked`
    )
  if (client !== (client_wallet_address ?? ''))
    found.push(
      `${name}: its consent record is for ${String(client)}, and its client is ${String(client_wallet_address)}`
    )
  return found
}
