import type { Clock } from '@open-payments-server/value-types/clock'
import canonicalize from 'canonicalize'
import {
  type ConsentProof,
  type ConsentRecord,
  hashDocument,
  type IdTokenVerifier,
  type OwnershipVerifier
} from '../../domain/consent-proof.js'
import { invalidField } from '../../domain/errors.js'
import { findSignInProblem, type SignInDemand } from '../../domain/sign-in-rule.js'
import type { ConsentDocument, ConsentTerms } from '../consent-document.js'

/** A proof, and the document that it is about. */
export interface ProvenConsent extends ConsentProof {
  readonly document: Readonly<Record<string, unknown>> & Pick<ConsentDocument, 'language' | 'words'>
}

/** What verifying consent needs. */
export interface VerifyConsentDependencies {
  readonly idTokens: IdTokenVerifier
  readonly ownerships: OwnershipVerifier
  readonly clock: Clock
  /** By how much the clocks of issuers may differ, in seconds. */
  readonly toleranceSeconds: number
}

/**
 * Verifies that the holder of the wallet address consented to exactly what is granted. The document is built anew from what is
 * known here: of what was sent, only the words count.
 *
 * @param terms what is granted
 * @param demand how they must have signed in; undefined when that does not matter
 * @throws Refusal `invalid-field` `document`, `idToken` or `ownership`; `issuer-unavailable`
 */
export async function verifyConsent(
  { idToken, ownership, document: sent }: ProvenConsent,
  terms: ConsentTerms,
  demand: SignInDemand | undefined,
  { idTokens, ownerships, clock, toleranceSeconds }: VerifyConsentDependencies
): Promise<ConsentRecord> {
  const expected: ConsentDocument = { ...terms, language: sent.language, words: sent.words }
  assertSame(sent, { ...expected })
  const document = canonical(expected)
  const documentHash = hashDocument(document)
  const holder = await idTokens.verify(idToken, documentHash.toString('base64url'))
  const problem = demand && findSignInProblem(holder, demand, clock.now(), toleranceSeconds)
  if (problem !== undefined) throw invalidField('idToken', problem)
  await ownerships.verify(ownership, holder, terms.walletAddress)
  const { issuer, sub, acr, amr, authTimeMs } = holder
  return { document, documentHash, issuer, sub, acr, amr, authTimeMs, idToken, ownership }
}

/** Says which member differs: the nonce would tell only that one does. */
function assertSame(
  sent: Readonly<Record<string, unknown>>,
  expected: Readonly<Record<string, unknown>>
): void {
  for (const member of new Set([...Object.keys(expected), ...Object.keys(sent)])) {
    if (!Object.hasOwn(expected, member)) throw invalidField(`document.${member}`, 'does not belong there')
    if (!Object.hasOwn(sent, member)) throw invalidField(`document.${member}`, 'is required')
    if (canonical(sent[member]) !== canonical(expected[member]))
      throw invalidField(`document.${member}`, 'must be as this grant would be')
  }
}

/** Canonical JSON (RFC 8785). */
function canonical(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('only JSON has a canonical form')
  return text
}
