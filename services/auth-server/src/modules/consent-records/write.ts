import { bytesText, instantText, placeholder } from '@open-payments-server/database'
import type { ConsentRecord } from '../../domain/consent-proof.js'
import { Prisma } from '../database.js'

const RECORD = Prisma.sql`${placeholder('consentRecord')}::jsonb`

/** Writes the record of {@link consentRecordValue}, if there is one, for the grants of `approved_grant (grant_id, changed_at)`. */
export const insertedConsentRecords = Prisma.sql`
  inserted_consent_record as (
    insert into consent_record (
      grant_id, document, document_hash, issuer, sub, acr, amr, auth_time, id_token, ownership, created_at)
    select approved.grant_id, new.document, new."documentHash", new.issuer, new.sub, new.acr, new.amr, new."authTime",
           new."idToken", new.ownership, approved.changed_at
      from approved_grant approved cross join jsonb_to_record(${RECORD}) as new (
        document text, "documentHash" bytea, issuer text, sub text, acr text, amr text[], "authTime" timestamptz,
        "idToken" text, ownership text)
     where ${RECORD} is not null)`

/** The value of {@link insertedConsentRecords}; undefined for consent without proof. */
export function consentRecordValue(record: ConsentRecord | undefined): {
  readonly consentRecord: string | null
} {
  if (record === undefined) return { consentRecord: null }
  const { documentHash, authTimeMs, ...texts } = record
  const value = {
    ...texts,
    documentHash: bytesText(documentHash),
    authTime: authTimeMs === undefined ? undefined : instantText(authTimeMs)
  }
  return { consentRecord: JSON.stringify(value) }
}
