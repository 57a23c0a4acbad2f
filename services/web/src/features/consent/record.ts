import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { AskedGrant, DecisionResult, InteractionAddress } from '../../domain/grant.js'
import type { Session } from '../../domain/session.js'
import { sendNotice, type Site, speechFor } from '../site.js'

/** Sends the browser on once its decision is recorded, or tells why it is not. */
export function recordDecision(
  { site }: { readonly site: Site },
  request: HttpRequest,
  response: HttpResponse,
  decided: { at: InteractionAddress; grant: AskedGrant; session: Session; result: DecisionResult }
): void {
  const { at, grant, session, result } = decided
  switch (result.outcome) {
    case 'recorded':
      response.seeOther(finishUrl(grant, at, result.finishCode))
      return
    case 'over':
      sendNotice(site, request, response, { status: 409, notice: 'decided', session })
      return
    case 'unproven': {
      const to = `/consent?${new URLSearchParams({ ...at }).toString()}`
      const wayOn = { label: speechFor(site, request).messages.lookAgain, to }
      sendNotice(site, request, response, { status: 403, notice: 'unproven', session, wayOn })
    }
  }
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
