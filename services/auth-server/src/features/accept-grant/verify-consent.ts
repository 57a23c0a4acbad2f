import { type ConsentProof, type ConsentRecord, hashDocument } from '../../domain/consent-proof.js'
import { invalidField } from '../../domain/errors.js'
import type { SignInDemand } from '../../domain/sign-in-rule.js'
import type { ConsentDocument, ConsentTerms } from '../consent-document.js'
import { canonicalJson, proveHolder, type ProveHolderDependencies } from '../prove-holder.js'

/** A proof, and the document that it is about. */
export interface ProvenConsent extends ConsentProof {
  readonly document: Readonly<Record<string, unknown>> & Pick<ConsentDocument, 'language' | 'words'>
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
  dependencies: ProveHolderDependencies
): Promise<ConsentRecord> {
  const expected: ConsentDocument = { ...terms, language: sent.language, words: sent.words }
  assertSame(sent, { ...expected })
  const document = canonicalJson(expected)
  const wish = { document, walletAddress: terms.walletAddress, demand }
  const { issuer, sub, acr, amr, authTimeMs } = await proveHolder({ idToken, ownership }, wish, dependencies)
  const documentHash = hashDocument(document)
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
    if (canonicalJson(sent[member]) !== canonicalJson(expected[member]))
      throw invalidField(`document.${member}`, 'must be as this grant would be')
  }
}
