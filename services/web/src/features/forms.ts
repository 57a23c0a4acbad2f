import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { Session } from '../domain/session.js'
import { passBy } from './passing-by.js'
import { isOwnForm, readForm, sendNotice, type Site, speechFor } from './site.js'

/** Name of the field with the token of a form. */
export const TOKEN_FIELD = 'token'

/** Name of the field of a form that repeats what may have been done by it before. */
const REPEATS_FIELD = 'repeats'

/** What a form sends that repeats another one, of which it is not known whether it was done. */
export function repeating(fields: URLSearchParams): [name: string, value: string][] {
  const sent = [...fields].filter(([name]) => name !== '' && name !== REPEATS_FIELD)
  return [...sent, [REPEATS_FIELD, 'yes']]
}

/** Whether what a form asks for may have been done before: whoever refuses it must not say that it was not. */
export function isRepeat(fields: URLSearchParams): boolean {
  return fields.has(REPEATS_FIELD)
}

/**
 * Whoever is signed in.
 *
 * @returns undefined when the browser was sent to sign in, after which it comes back
 */
export async function requireSession(
  site: Site,
  request: HttpRequest,
  response: HttpResponse
): Promise<Session | undefined> {
  const session = await site.sessions.find(request.get('cookie'))
  if (session === undefined)
    await passBy(site, request, response, { purpose: { kind: 'sign-in', to: request.originalUrl } })
  return session
}

/**
 * A form that somebody sent from a page that was given to them.
 *
 * @param form.purpose what its token is for
 * @param form.page path of the page that it is on
 * @returns undefined when the browser was told why nothing is done
 */
export async function takeForm(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  form: { readonly purpose: string; readonly page: string }
): Promise<{ readonly session: Session; readonly fields: URLSearchParams } | undefined> {
  const { messages } = speechFor(site, request)
  const session = await site.sessions.find(request.get('cookie'))
  const fields = readForm(request)
  if (session === undefined) {
    const to = `/sign-in?${new URLSearchParams({ to: form.page }).toString()}`
    const wayOn = { label: messages.signIn, to }
    const notice = isRepeat(fields) ? 'unsure' : 'signed-out-meanwhile'
    sendNotice(site, request, response, { status: 403, notice, wayOn })
    return undefined
  }
  const token = fields.get(TOKEN_FIELD) ?? ''
  if (!isOwnForm(site, request, session, { purpose: form.purpose, token })) {
    const wayOn = { label: messages.lookAgain, to: form.page }
    const notice = isRepeat(fields) ? 'unsure' : 'forged'
    sendNotice(site, request, response, { status: 403, notice, session, wayOn })
    return undefined
  }
  return { session, fields }
}
