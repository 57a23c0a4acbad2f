import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { Resumption } from '../../domain/allowed.js'
import { hashOf } from '../../domain/consent-document.js'
import type { SignedIn } from '../../modules/issuer/index.js'
import { consentDetails } from '../consent-details.js'
import { TOKEN_FIELD } from '../forms.js'
import { demandOf, isOfOnePerson, passBy, type Pending } from '../passing-by.js'
import { sendNotice, speechFor } from '../site.js'
import { sendOutcome } from './acts.js'
import { sendDetail } from './detail.js'
import {
  type AllowedDependencies,
  allowedFrame,
  describeReceivers,
  findHeldGrant,
  formPurpose,
  type HeldGrant,
  isAsSeen,
  pathOf,
  repeatedAct,
  seenOf,
  takeHeldForm
} from './someone.js'

/**
 * `POST /allowed/:id/resume`. Whoever resumes is refused when something has changed, because they did not see what they resume. Where the
 * auth server wants a proof, they confirm it at the issuer first.
 */
export async function takeResume(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const id = request.param('id')
  const taken = await takeHeldForm(dependencies, request, response, { act: 'resume', page: pathOf(id) })
  if (taken === undefined) return
  const { held, fields } = taken
  // Of what somebody else agreed to, no page has a form that resumes: only its holder has changed meanwhile.
  const isKnown = isAsSeen(held, fields) || repeatedAct(held, 'resumed', fields) !== undefined
  if (held.grant.isConsentOfAnother || !isKnown) {
    await sendChanged(dependencies, request, response, held)
    return
  }
  if (held.resumption !== undefined) {
    await confirmAtIssuer(dependencies, request, response, { held, resumption: held.resumption })
    return
  }
  const outcome = await dependencies.grants.resume(held.acting, id, { seenActId: fields.get('seen') ?? '' })
  if (outcome === 'unproven') {
    // Somebody acted in between.
    const now = await findHeldGrant(dependencies, request, response, held.someone.session)
    if (now !== undefined) await sendChanged(dependencies, request, response, now)
    return
  }
  await sendOutcome(dependencies, request, response, { held, kind: 'resumed', outcome, fields })
}

async function confirmAtIssuer(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  { held, resumption }: { readonly held: HeldGrant; readonly resumption: Resumption }
): Promise<void> {
  const { grant, someone } = held
  const { issuer, sub } = someone.session
  const items = grant.items.map(({ item }) => item)
  await passBy(dependencies.site, request, response, {
    nonce: hashOf(resumption.document),
    purpose: { kind: 'resumption', grantId: grant.id, issuer, sub },
    ...demandOf(resumption.signIn),
    details: consentDetails(items, await describeReceivers(dependencies, [grant]), grant.endsAtMs)
  })
}

/** Resumes what somebody wanted to, now that the issuer has signed it. If something has changed meanwhile, nothing is resumed. */
export async function finishResumption(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  { pending, signedIn }: { readonly pending: Pending; readonly signedIn: SignedIn }
): Promise<void> {
  const { site, grants, holders } = dependencies
  const { purpose } = pending
  if (purpose.kind !== 'resumption') throw new Error('that was no resumption')
  const { grantId } = purpose
  const wayOn = { label: speechFor(site, request).messages.lookAgain, to: pathOf(grantId) }
  const session = await site.sessions.find(request.get('cookie'))
  if (!isOfOnePerson(purpose, session, signedIn)) {
    sendNotice(site, request, response, { status: 403, notice: 'other-person', wayOn })
    return
  }
  const held = await findHeldGrant(dependencies, request, response, session, grantId)
  if (held === undefined) return
  const { grant, resumption, someone } = held
  const ownership = await holders.stateOwnership(grant.walletAddress, someone.claimant)
  if (resumption === undefined || ownership === undefined || hashOf(resumption.document) !== pending.nonce) {
    await sendChanged(dependencies, request, response, held)
    return
  }
  const outcome = await grants.resume(held.acting, grantId, { idToken: signedIn.idToken, ownership })
  if (outcome === 'unproven') {
    sendNotice(site, request, response, { status: 403, notice: 'unproven', session, wayOn })
    return
  }
  await sendOutcome(dependencies, request, response, {
    ...{ held, kind: 'resumed', outcome },
    // As the page has it that was shown before: what is repeated is confirmed anew, unless it was done.
    fields: new URLSearchParams([
      [TOKEN_FIELD, site.sessions.formToken(session, formPurpose('resume', grantId))],
      ['seen', seenOf(held)]
    ]),
    action: `${pathOf(grantId)}/resume`
  })
}

/** Says that it is not as it was seen, with what is true now. */
async function sendChanged(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  held: HeldGrant
): Promise<void> {
  const { changed } = allowedFrame(dependencies, request, held.someone.session).speech.messages.allowed
    .meanwhile
  await sendDetail(dependencies, request, response, held, { status: 409, meanwhile: changed })
}
