import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { readChanges } from '../../domain/changes.js'
import type { SignedIn } from '../../modules/issuer/index.js'
import { isLanguage, speak } from '../../words/languages.js'
import { isOfOnePerson, type Pending } from '../passing-by.js'
import { sendNotice, speechFor } from '../site.js'
import { makeOffer } from './consent.js'
import { pathOf, recordDecision } from './decided.js'
import { asTold } from './payees.js'
import { type ConsentDependencies, findOpen } from './routes.js'

/**
 * Accepts what somebody decided, now that the issuer has signed it: the ID token's nonce is the hash of the consent document, which is
 * made anew here. If it is another one by now, nothing is accepted.
 */
export async function finishConsent(
  dependencies: ConsentDependencies,
  request: HttpRequest,
  response: HttpResponse,
  { pending, signedIn }: { readonly pending: Pending; readonly signedIn: SignedIn }
): Promise<void> {
  const { site, interactions } = dependencies
  const { purpose } = pending
  if (purpose.kind !== 'consent' || !isLanguage(purpose.language)) throw new Error('that was no consent')
  const { interactId, nonce, language, changes, payees } = purpose
  const at = { interactId, nonce }
  const { messages } = speechFor(site, request)
  const wayOn = { label: messages.lookAgain, to: pathOf(at) }
  const session = await site.sessions.find(request.get('cookie'))
  if (!isOfOnePerson(purpose, session, signedIn)) {
    sendNotice(site, request, response, { status: 403, notice: 'other-person', wayOn })
    return
  }
  const open = await findOpen(dependencies, request, response, { session, address: at })
  if (open === undefined) return
  const { grant, ownership } = open
  const receivers = asTold(open.receivers, payees)
  const offer = makeOffer(grant, receivers, readChanges(changes), speak(language, site.timeZone))
  if (offer.hash !== pending.nonce) {
    sendNotice(site, request, response, { status: 409, notice: 'changed', session, wayOn })
    return
  }
  const access = offer.isLess ? offer.access : undefined
  const proof = { idToken: signedIn.idToken, ownership, document: offer.document }
  const result = await interactions.accept(at, { access, endsAtMs: offer.endsAtMs, proof })
  recordDecision(dependencies, request, response, { at, grant, session, result })
}
