import { isDeepStrictEqual } from 'node:util'
import { formatAccessItem } from '../../domain/access.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { accessOf, restoreAccessItem, type StoredTerms } from '../../modules/grants/index.js'
import { findWrongProof, readDocument } from './audit-proofs.js'
import { endOf } from './audit-acts.js'
import { findByCursor } from './find-by-cursor.js'

/** Grants whose consent is recorded or must be, with their terms before the first act on them. */
const CONSENTED = Prisma.sql`
  select g.id as grant_id, g.client_wallet_address, i.id as interaction_id, i.wallet_address,
         coalesce(
           (select act.before from grant_act act where act.grant_id = g.id order by act.kind = 'stopped', act.at limit 1),
           jsonb_build_object('access', ${accessOf(Prisma.sql`g.id`)}, 'endsAt', g.ends_at)) as consented,
         c.document, c.issuer, c.sub, c.id_token, c.ownership
    from grant_request g
    left join consent_record c on c.grant_id = g.id
    left join interaction i on i.grant_id = g.id
   where c.grant_id is not null or i.needs_consent_record`

/** A consent record as it is stored. */
interface StoredConsent {
  readonly document: string
  readonly issuer: string
  readonly sub: string
  readonly id_token: string
  readonly ownership: string
}

type NoConsent = Readonly<Record<keyof StoredConsent, null>>

type ConsentedGrant = (StoredConsent | NoConsent) & {
  readonly grant_id: string
  readonly client_wallet_address: string | null
  readonly interaction_id: string | null
  readonly wallet_address: string | null
  readonly consented: Pick<StoredTerms, 'access' | 'endsAt'>
}

/**
 * Finds consents that were to be proved and have no record, records that another person than the holder of the wallet address proved, and grants
 * that allowed something else than their record says, or longer, before their account holders acted on them. What they did since is
 * compared in {@link findWrongActs}, and what is spent with what a grant allows elsewhere.
 */
export function findWrongConsents(snapshot: Queries, violationsMax: number): Promise<string[]> {
  const inspected = { cursor: 'consented_grant', rows: CONSENTED, pageSize: 1_000, findWrong }
  return findByCursor(snapshot, inspected, violationsMax)
}

function findWrong(grant: ConsentedGrant): string[] {
  const name = `Grant ${grant.grant_id}`
  if (grant.document === null)
    return [`${name}: its account holder was to prove the consent, and it has no consent record`]
  const { document, issuer, sub, id_token: idToken, ownership } = grant
  const prover = { issuer, sub, walletAddress: grant.wallet_address }
  return [
    ...findWrongProof({ document, idToken, ownership }, prover).map(
      (wrong) => `${name}: its consent record has ${wrong}`
    ),
    ...findOtherTerms(name, grant, document)
  ]
}

function findOtherTerms(name: string, grant: ConsentedGrant, text: string): string[] {
  const { access, interaction, walletAddress, client, endsAt } = readDocument(text)
  const { consented, interaction_id, wallet_address, client_wallet_address } = grant
  const found: string[] = []
  const granted = consented.access.map((item) => formatAccessItem(restoreAccessItem(item)))
  if (!isDeepStrictEqual(access, granted))
    found.push(`${name}: it was granted other access than its consent record says`)
  if (typeof endsAt === 'string' && !(endOf(consented) <= Date.parse(endsAt)))
    found.push(`${name}: it ends later than its consent record says, which is ${endsAt}`)
  if (interaction !== interaction_id) found.push(`${name}: its consent record is of another interaction`)
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
