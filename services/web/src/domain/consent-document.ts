import { createHash } from 'node:crypto'
import type { AskedGrant, AskedItem } from './grant.js'

/** The words in which an account holder is told what they consent to. */
export interface ShownWords {
  /** BCP 47. */
  readonly language: string
  /** Paragraph by paragraph. */
  readonly words: readonly string[]
}

/** The consent document: what is granted, and the words in which that was shown. See docs/consent-pages.md. */
export function consentDocument(
  grant: AskedGrant,
  access: readonly AskedItem[],
  { language, words }: ShownWords
): Readonly<Record<string, unknown>> {
  return { ...grant.document, access, payees: payeesOf(access), language, words }
}

/** SHA-256 of a consent document in canonical form, in base64url: the nonce of the ID token that proves the consent. */
export function hashOf(canonicalDocument: string): string {
  return createHash('sha256').update(canonicalDocument, 'utf8').digest('base64url')
}

/** Whom what is granted lets the client pay; null for anyone it chooses. */
export function payeesOf(access: readonly AskedItem[]): readonly string[] | null {
  const paying = access.filter(
    ({ type, actions }) => type === 'outgoing-payment' && actions.includes('create')
  )
  const receivers = paying.flatMap(({ limits }) => limits?.receiver ?? [])
  return receivers.length < paying.length ? null : [...new Set(receivers)]
}
