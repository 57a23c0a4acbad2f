import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { Session } from '../domain/session.js'
import type { CookieJar, Sealer } from '../modules/cookies/index.js'
import type { Issuer } from '../modules/issuer/index.js'
import type { HeldTokens, Sessions } from '../modules/sessions/index.js'
import type { Brand } from '../pages/brand.js'
import type { Frame } from '../pages/layout.js'
import { noticePage, type WayOn } from '../pages/notice.js'
import { isLanguage, type Language, preferredLanguage, speak, type Speech } from '../words/languages.js'
import type { Notice } from '../words/messages.js'

/** Cookie with the language that somebody chose. */
export const LANGUAGE_COOKIE = 'language'

/** What the forms that sign out carry a token for. */
export const SIGN_OUT_FORM = 'sign-out'

/** The pages of one listener, with what all of them need. */
export interface Site {
  /** `holder` or `console`. */
  readonly listener: string
  /** As browsers reach it. */
  readonly origin: string
  readonly brand: Brand
  readonly timeZone: string
  readonly jar: CookieJar
  readonly sealer: Sealer
  readonly sessions: Sessions
  readonly issuer: Issuer
  /** Keeps the ID tokens of whoever signs in. */
  readonly tokens: HeldTokens
  /** Claim of the ID token with roles; undefined where nobody has one. */
  readonly rolesClaim: string | undefined
  /** Claim of the ID token that names accounts; undefined where none does. */
  readonly holderClaim: string | undefined
  readonly clock: Clock
  readonly random: Random
}

/** The language of an answer: the one that was chosen, or what the browser prefers. */
export function speechFor(site: Site, request: HttpRequest, language?: Language): Speech {
  const chosen = site.jar.read(request.get('cookie'), LANGUAGE_COOKIE)
  const preferred = isLanguage(chosen) ? chosen : preferredLanguage(request.get('accept-language'))
  return speak(language ?? preferred, site.timeZone)
}

/** What surrounds a page. */
export function frameOf(site: Site, speech: Speech, session?: Session, path?: string): Frame {
  const { brand, sessions } = site
  if (session === undefined) return { brand, speech, path }
  const name = session.name ?? speech.messages.home.someone
  return { brand, speech, path, person: { name, formToken: sessions.formToken(session, SIGN_OUT_FORM) } }
}

/** Answers with a page. */
export function sendPage(response: HttpResponse, status: number, page: string): void {
  response.sendText(status, 'text/html; charset=utf-8', page)
}

/** Answers with a page that says that something is as it is. */
export function sendNotice(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  { status, notice, session, wayOn }: { status: number; notice: Notice; session?: Session; wayOn?: WayOn }
): void {
  sendPage(response, status, noticePage(frameOf(site, speechFor(site, request), session), notice, wayOn))
}

/** Sends the browser to a path here. */
export function goTo(site: Site, response: HttpResponse, path: string): void {
  response.seeOther(`${site.origin}${path}`)
}

/** The fields of a form; each name once. */
export function readForm(request: HttpRequest): URLSearchParams {
  return new URLSearchParams(request.body?.toString('utf8') ?? '')
}

/**
 * Whether a form was sent from a page here, as browsers say. With no-referrer they hide the origin of our own forms (`null`), but not
 * `Sec-Fetch-Site`.
 */
function isFromHere(site: Site, request: HttpRequest): boolean {
  const fetchSite = request.get('sec-fetch-site') ?? 'same-origin'
  const origin = request.get('origin') ?? 'null'
  return fetchSite === 'same-origin' && (origin === 'null' || origin === site.origin)
}

/**
 * Whether a form was sent from a page that was given to a session.
 *
 * @param form.purpose what its token is for
 * @param form.token that it carries
 */
export function isOwnForm(
  site: Site,
  request: HttpRequest,
  session: Session,
  form: { readonly purpose: string; readonly token: string }
): boolean {
  return isFromHere(site, request) && site.sessions.isFormToken(session, form.purpose, form.token)
}
