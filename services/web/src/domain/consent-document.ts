import { createHash } from 'node:crypto'
import { payeesOf } from '@open-payments-server/value-types/intervals'
import type { AskedGrant, AskedItem } from './grant.js'

/** The words in which an account holder is told what they consent to. */
export interface ShownWords {
  /** BCP 47. */
  readonly language: string
  /** Paragraph by paragraph. */
  readonly words: readonly string[]
}

/**
 * The consent document: what is granted, and the words in which that was shown. See docs/consent-pages.md.
 *
 * @param granted.endsAtMs when it ends, in milliseconds since 1970; undefined when no last day was set
 */
export function consentDocument(
  grant: AskedGrant,
  { access, endsAtMs }: { readonly access: readonly AskedItem[]; readonly endsAtMs: number | undefined },
  { language, words }: ShownWords
): Readonly<Record<string, unknown>> {
  const ends = endsAtMs === undefined ? {} : { endsAt: new Date(endsAtMs).toISOString() }
  return { ...grant.document, access, payees: payeesOf(access), ...ends, language, words }
}

/** SHA-256 of a document in canonical form, in base64url: the nonce of the ID token that proves what it says. */
export function hashOf(canonicalDocument: string): string {
  return createHash('sha256').update(canonicalDocument, 'utf8').digest('base64url')
}
