import type { ConsentRecord } from '../../domain/consent-proof.js'
import type { Queries } from '../database.js'

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
