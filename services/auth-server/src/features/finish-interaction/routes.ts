import type { Route } from '@open-payments-server/http-server'
import type { InteractionCookie } from '../interaction-cookie.js'
import { finishInteraction, type FinishInteractionDependencies } from './finish-interaction.js'

/** What the route needs. */
export interface FinishInteractionRouteDependencies extends FinishInteractionDependencies {
  readonly interactionCookie: InteractionCookie
  /** What is shown when the client did not request a redirect, as a page and as text. */
  readonly doneAnswers: Readonly<
    Record<'approved' | 'denied', { readonly page: string; readonly text: string }>
  >
}

const HTML = 'text/html; charset=utf-8'

/**
 * `GET /interact/{id}/{nonce}/finish`: the account holder's browser has finished (RFC 9635 §4.2). Its query has the finish
 * code of the approval as `code`, if one was issued; the browser then keeps it.
 */
export function finishInteractionRoute(dependencies: FinishInteractionRouteDependencies): Route {
  const { interactionCookie, doneAnswers } = dependencies
  return {
    method: 'GET',
    path: '/interact/:id/:nonce/finish',
    handle: async (request, response) => {
      const id = request.param('id')
      const { code } = request.query
      const kept = interactionCookie.read(request.get('cookie'))
      const browser = { ...kept, finishCode: typeof code === 'string' ? code : kept.finishCode }
      const { end, provedCode } = await finishInteraction(
        { id, nonce: request.param('nonce'), browser },
        dependencies
      )
      if (kept.cookie !== undefined && provedCode !== undefined && provedCode !== kept.finishCode) {
        const { cookie } = kept
        response.addField('Set-Cookie', interactionCookie.write(id, { cookie, finishCode: provedCode }))
      }
      if (typeof end !== 'string') {
        response.seeOther(end.location)
        return
      }
      const { page, text } = doneAnswers[end]
      if (request.accepts(['text', 'html']) === 'html') response.sendText(202, HTML, page)
      else response.sendText(202, 'text/plain; charset=utf-8', text)
    }
  }
}
