import type { RouteHandler } from '@open-payments-server/http-server'
import type { InteractionCookie } from '../interaction-cookie.js'
import type { FinishInteractionService } from './finish-interaction.js'

const HTML = 'text/html; charset=utf-8'

/**
 * `GET /interact/{id}/{nonce}/finish`: the account holder's browser has finished (RFC 9635 §4.2). Its query has the finish
 * code of the approval as `code`, if one was issued; the browser then keeps it.
 *
 * @param donePage shown when the client did not request a redirect
 */
export function finishInteractionRoute(
  service: FinishInteractionService,
  interactionCookie: InteractionCookie,
  donePage: string
): RouteHandler {
  return async (request, response) => {
    const id = request.param('id')
    const { code } = request.query
    const kept = interactionCookie.read(request.get('cookie'))
    const finishCode = typeof code === 'string' ? code : kept.finishCode
    const { location, provedCode } = await service.finishInteraction(id, request.param('nonce'), {
      ...kept,
      finishCode
    })
    if (kept.cookie !== undefined && provedCode !== undefined && provedCode !== kept.finishCode) {
      const { cookie } = kept
      response.addField('Set-Cookie', interactionCookie.write(id, { cookie, finishCode: provedCode }))
    }
    if (location !== undefined) response.seeOther(location)
    else if (request.accepts(['text', 'html']) === 'html') response.sendText(202, HTML, donePage)
    else response.sendText(202, 'text/plain; charset=utf-8', 'Done. You can close this page.')
  }
}
