import type { ConsentRecord } from '../../domain/consent-proof.js'
import { Prisma, type Queries } from '../database.js'

/** A consent record as it is kept. */
export interface StoredConsentRecord extends ConsentRecord {
  /** When the account holder consented. */
  readonly createdAtMs: number
}

/** Finds the consent record of a grant; undefined when there is none. */
export async function findConsentRecord(
  on: Queries,
  grantId: string
): Promise<StoredConsentRecord | undefined> {
  const row = await on.consentRecord.findUnique({ where: { grantId } })
  if (row === null) return undefined
  const { document, documentHash, issuer, sub, acr, amr, authTime, idToken, ownership, createdAt } = row
  return {
    document,
    documentHash: Buffer.from(documentHash),
    issuer,
    sub,
    acr: acr ?? undefined,
    amr,
    authTimeMs: authTime?.getTime(),
    idToken,
    ownership,
    createdAtMs: createdAt.getTime()
  }
}

/**
 * Fragment, a condition: whether another person than one proved the consent to a grant; not if nobody proved it. It looks up one record for
 * each grant: for `exists`, PostgreSQL may read all records first.
 *
 * @param grantId names the grant's id
 * @param person how their issuer names them
 */
export function isConsentOfAnother(
  grantId: Prisma.Sql,
  person: { readonly issuer: Prisma.Sql; readonly sub: Prisma.Sql }
): Prisma.Sql {
  return Prisma.sql`
  coalesce((
    select c.issuer <> ${person.issuer} or c.sub <> ${person.sub} from consent_record c where c.grant_id = ${grantId}), false)`
}
