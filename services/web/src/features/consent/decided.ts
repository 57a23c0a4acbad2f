import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { AskedGrant, DecisionResult, InteractionAddress } from '../../domain/grant.js'
import type { Session } from '../../domain/session.js'
import { decidedPage } from '../../pages/consent.js'
import type { WayOn } from '../../pages/notice.js'
import { describeGrant } from '../../words/describe-grant.js'
import type { DescribedReceivers } from '../../words/describe-item.js'
import type { Speech } from '../../words/languages.js'
import { domainOf } from '../../words/presentable.js'
import { frameOf, goTo, sendNotice, sendPage, type Site, speechFor } from '../site.js'

/** Parameter of a request whose decision may have been lost: it is asked about again unless it was recorded. */
export const UNSURE = 'unsure'

/**
 * Sends the browser on once its decision is recorded, or tells why it is not. A client that is not told by the browser leaves it here, with
 * what was decided.
 */
export function recordDecision(
  { site }: { readonly site: Site },
  request: HttpRequest,
  response: HttpResponse,
  decided: { at: InteractionAddress; grant: AskedGrant; session: Session; result: DecisionResult }
): void {
  const { at, grant, session, result } = decided
  switch (result.outcome) {
    case 'recorded':
      if (grant.returnOrigin === null) goTo(site, response, pathOf(at))
      else response.seeOther(finishUrl(grant, at, result.finishCode))
      return
    case 'over':
      // The page says what was decided, or that nothing was.
      goTo(site, response, pathOf(at))
      return
    case 'unsure':
      goTo(site, response, `${pathOf(at)}&${UNSURE}=yes`)
      return
    case 'unproven': {
      const wayOn = { label: speechFor(site, request).messages.lookAgain, to: pathOf(at) }
      sendNotice(site, request, response, { status: 403, notice: 'unproven', session, wayOn })
    }
  }
}

/** Says what was decided about a request, to the holder of its wallet. */
export function sendDecided(
  { site }: { readonly site: Site },
  request: HttpRequest,
  response: HttpResponse,
  decided: { at: InteractionAddress; grant: AskedGrant; receivers: DescribedReceivers; session: Session }
): void {
  const { at, grant, receivers, session } = decided
  const speech = speechFor(site, request)
  const words = describeGrant(grant, grant, receivers, speech)
  const page = decidedPage(frameOf(site, speech, session, pathOf(at)), {
    isAllowed: grant.state === 'APPROVED',
    headline: words.headline,
    facts: words.facts.filter(({ label }) => label !== speech.messages.facts.decide),
    grantPath: grant.access.length === 0 ? undefined : `/allowed/${grant.grantId}`,
    wayBack: wayBackOf(grant, at, speech)
  })
  sendPage(response, 200, page)
}

/** The way back to the client; undefined when the browser is not to tell it. */
export function wayBackOf(
  grant: AskedGrant,
  at: InteractionAddress,
  { messages }: Speech
): WayOn | undefined {
  if (grant.returnOrigin === null) return undefined
  return { label: messages.consent.backTo(domainOf(grant.returnOrigin)), to: finishUrl(grant, at, undefined) }
}

/** Path of a request. */
export function pathOf({ interactId, nonce }: InteractionAddress): string {
  return `/consent?${new URLSearchParams({ interactId, nonce }).toString()}`
}

/** Where the browser finishes: below the grant endpoint. */
function finishUrl(
  { document }: AskedGrant,
  { interactId, nonce }: InteractionAddress,
  finishCode: string | undefined
): string {
  const base = document.authServer.replace(/\/?$/, '/')
  const url = new URL(`interact/${interactId}/${nonce}/finish`, base)
  if (finishCode !== undefined) url.searchParams.set('code', finishCode)
  return url.href
}
