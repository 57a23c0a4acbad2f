import canonicalize from 'canonicalize'
import { applyChanges, type ChangeProblem, type Changes } from '../../domain/changes.js'
import { consentDocument, hashOf } from '../../domain/consent-document.js'
import type { AskedGrant, AskedItem } from '../../domain/grant.js'
import { describeGrant, type GrantWords } from '../../words/describe-grant.js'
import type { DescribedReceivers } from '../../words/describe-item.js'
import type { Speech } from '../../words/languages.js'

/** What an account holder is shown, and what they allow with it. */
export interface Offer {
  readonly words: GrantWords
  /** What is granted. */
  readonly access: readonly AskedItem[]
  /** When it ends, in milliseconds since 1970; undefined when no last day was set. */
  readonly endsAtMs: number | undefined
  readonly isLess: boolean
  /** Why the changes cannot be applied; what was asked is shown then. */
  readonly problem: ChangeProblem | undefined
  /** The consent document. */
  readonly document: Readonly<Record<string, unknown>>
  /** Its hash: the nonce by which the issuer's signature is about it. */
  readonly hash: string
}

/**
 * The same grant, receivers, changes and language make the same offer: it is made anew, not remembered, between question and answer.
 */
export function makeOffer(
  grant: AskedGrant,
  receivers: DescribedReceivers,
  changes: Changes,
  speech: Speech
): Offer {
  const isEmpty = grant.access.length === 0
  const narrowed = isEmpty
    ? { items: [], endsAtMs: undefined, isLess: false }
    : applyChanges(grant.access, changes, grant.expiresAtMs, {
        decimalSign: speech.messages.decimalSign,
        endOfDay: (day) => speech.formats.endOfDay(day)
      })
  const problem = 'problem' in narrowed ? narrowed.problem : undefined
  const granted =
    'problem' in narrowed
      ? { access: grant.access, endsAtMs: undefined }
      : { access: narrowed.items.map(({ item }) => item), endsAtMs: narrowed.endsAtMs }
  const words = describeGrant(grant, granted, receivers, speech)
  const document = consentDocument(grant, granted, { language: speech.language, words: words.words })
  const canonical = canonicalize(document)
  if (canonical === undefined) throw new TypeError('only JSON has a canonical form')
  return {
    words,
    ...granted,
    isLess: 'isLess' in narrowed && narrowed.isLess,
    problem,
    document,
    hash: hashOf(canonical)
  }
}
