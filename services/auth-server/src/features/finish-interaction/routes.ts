import { seeOther } from '@open-payments-server/http-server'
import type { RequestHandler } from 'express'
import type { InteractionCookie } from '../../domain/interaction-cookie.js'
import type { FinishInteractionService } from './finish-interaction.js'

/**
 * `GET /interact/{id}/{nonce}/finish`: the account holder's browser is done (RFC 9635 §4.2). Its query has as `code` what the
 * approval handed out, if it did; the browser then keeps it.
 *
 * @param donePage what people read whose client did not ask for the browser to come back
 */
export function finishInteractionRoute(
  service: FinishInteractionService,
  interactionCookie: InteractionCookie,
  donePage: string
): RequestHandler<{ id: string; nonce: string }> {
  return async (request, response) => {
    const { id, nonce } = request.params
    const { code } = request.query
    const kept = interactionCookie.read(request.get('cookie'))
    const finishCode = typeof code === 'string' ? code : kept.finishCode
    const { location, provedCode } = await service.finishInteraction(id, nonce, { ...kept, finishCode })
    if (kept.cookie !== undefined && provedCode !== undefined && provedCode !== kept.finishCode) {
      const { cookie } = kept
      response.append('Set-Cookie', interactionCookie.write(id, { cookie, finishCode: provedCode }))
    }
    if (location !== undefined) seeOther(response, location)
    else if (request.accepts('text', 'html') === 'html') response.status(202).type('html').send(donePage)
    else response.status(202).type('text/plain').send('Done. You can close this page.')
  }
}
