import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import { isLocalPath, type Session } from '../../domain/session.js'
import { SignInFailed, type SignedIn } from '../../modules/issuer/index.js'
import { isLanguage } from '../../words/languages.js'
import { comeBack, passBy, type Pending } from '../passing-by.js'
import {
  goTo,
  isOwnForm,
  LANGUAGE_COOKIE,
  readForm,
  sendNotice,
  SIGN_OUT_FORM,
  type Site,
  speechFor
} from '../site.js'

const YEAR_SECONDS = 31_536_000
/** Maximum size of the names of accounts of a claim, in bytes: cookies have about 4,000. */
const ACCOUNTS_BYTES_MAX = 1_500
/** Roles of operators. */
const ROLES: readonly string[] = ['viewer', 'operator', 'approver']

/** Goes on with a consent once the person has confirmed it at the issuer. */
export type FinishConsent = (
  request: HttpRequest,
  response: HttpResponse,
  confirmed: { readonly pending: Pending; readonly signedIn: SignedIn }
) => Promise<void>

/**
 * Signing in and out: `/sign-in?to=…`, `/signed-in` (where the issuer sends browsers back), `POST /sign-out`, `/signed-out`, and
 * `/language`, which sets the language of the pages.
 *
 * @param finishConsent undefined where nobody consents
 */
export function signInRoutes(site: Site, finishConsent: FinishConsent | undefined): Route[] {
  return [
    { method: 'GET', path: '/sign-in', handle: (request, response) => signIn(site, request, response) },
    {
      method: 'GET',
      path: '/signed-in',
      handle: (request, response) => signedIn(site, request, response, finishConsent)
    },
    { method: 'POST', path: '/sign-out', handle: (request, response) => signOut(site, request, response) },
    {
      method: 'GET',
      path: '/signed-out',
      handle: (request, response) => {
        const wayOn = { label: speechFor(site, request).messages.signIn, to: '/sign-in' }
        sendNotice(site, request, response, { status: 200, notice: 'signed-out', wayOn })
      }
    },
    { method: 'GET', path: '/language', handle: (request, response) => setLanguage(site, request, response) }
  ]
}

async function signIn(site: Site, request: HttpRequest, response: HttpResponse): Promise<void> {
  const { to, as } = request.query
  await passBy(site, request, response, {
    purpose: { kind: 'sign-in', to: localPath(to) },
    parameters: as === 'other' ? { prompt: 'login' } : {}
  })
}

async function signedIn(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  finishConsent: FinishConsent | undefined
): Promise<void> {
  const { state } = request.query
  const pending = typeof state === 'string' ? await comeBack(site, request, response, state) : undefined
  if (pending === undefined) {
    const wayOn = { label: speechFor(site, request).messages.signIn, to: '/sign-in' }
    sendNotice(site, request, response, { status: 400, notice: 'sign-in-lost', wayOn })
    return
  }
  const { purpose } = pending
  try {
    const query = request.originalUrl.slice(request.path.length + 1)
    const { nonce, codeVerifier, maxAge } = pending
    const asked = { state: pending.state, nonce, codeVerifier, ...(maxAge === undefined ? {} : { maxAge }) }
    const back = await site.issuer.finish(query, asked)
    if (purpose.kind === 'consent') {
      if (finishConsent === undefined) throw new Error('nobody consents here')
      await finishConsent(request, response, { pending, signedIn: back })
      return
    }
    await startSession(site, request, response, back)
    goTo(site, response, purpose.to)
  } catch (error) {
    if (!(error instanceof SignInFailed)) throw error
    const { messages } = speechFor(site, request)
    const wayOn =
      purpose.kind === 'sign-in'
        ? { label: messages.signIn, to: `/sign-in?${new URLSearchParams({ to: purpose.to }).toString()}` }
        : {
            label: messages.lookAgain,
            to: `/consent?${new URLSearchParams({ interactId: purpose.interactId, nonce: purpose.nonce }).toString()}`
          }
    const notice = error.isCancelled ? 'sign-in-cancelled' : 'failed'
    sendNotice(site, request, response, { status: error.isCancelled ? 403 : 400, notice, wayOn })
  }
}

/** Always a new session: one that somebody planted before leads nowhere, and one that was there before ends. */
async function startSession(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  { idToken, claims }: SignedIn
): Promise<void> {
  const before = await site.sessions.find(request.get('cookie'))
  if (before !== undefined) await site.sessions.end(before)
  const { session, cookie } = await site.sessions.start({
    issuer: claims.iss,
    sub: claims.sub,
    name: nameOf(claims),
    holderClaimValues: accountsOf(claims, site.holderClaim),
    roles: rolesOf(claims, site.rolesClaim)
  })
  response.addField('Set-Cookie', cookie)
  for (const kept of (await site.tokens?.keep(session, idToken)) ?? []) response.addField('Set-Cookie', kept)
}

async function signOut(site: Site, request: HttpRequest, response: HttpResponse): Promise<void> {
  const session: Session | undefined = await site.sessions.find(request.get('cookie'))
  if (session === undefined) {
    goTo(site, response, '/signed-out')
    return
  }
  const token = readForm(request).get('token') ?? ''
  if (!isOwnForm(site, request, session, { purpose: SIGN_OUT_FORM, token })) {
    sendNotice(site, request, response, { status: 403, notice: 'forged', session })
    return
  }
  response.addField('Set-Cookie', await site.sessions.end(session))
  for (const gone of site.tokens?.forget(request.get('cookie')) ?? []) response.addField('Set-Cookie', gone)
  const url = await site.issuer.signOutUrl()
  if (url === undefined) goTo(site, response, '/signed-out')
  else response.seeOther(url)
}

function setLanguage(site: Site, request: HttpRequest, response: HttpResponse): void {
  const { set, to } = request.query
  if (typeof set === 'string' && isLanguage(set))
    response.addField('Set-Cookie', site.jar.write(LANGUAGE_COOKIE, set, YEAR_SECONDS))
  goTo(site, response, localPath(to))
}

function localPath(to: string | string[] | undefined): string {
  return typeof to === 'string' && isLocalPath(to) ? to : '/'
}

function nameOf(claims: SignedIn['claims']): string | undefined {
  const names = [claims.name, claims.preferred_username, claims.email]
  return names.find((name): name is string => typeof name === 'string' && name !== '')
}

function rolesOf(claims: SignedIn['claims'], claim: string | undefined): string[] {
  const given = valuesOf(claims, claim)
  return ROLES.filter((role) => given.includes(role))
}

/** As many as a cookie can keep. */
function accountsOf(claims: SignedIn['claims'], claim: string | undefined): string[] {
  const names = valuesOf(claims, claim).filter((name): name is string => typeof name === 'string')
  let length = 0
  return names.filter((name) => (length += Buffer.byteLength(JSON.stringify(name)) + 1) <= ACCOUNTS_BYTES_MAX)
}

/** The values of a claim that has one, or a list of them. */
function valuesOf(claims: SignedIn['claims'], claim: string | undefined): readonly unknown[] {
  const value = claim === undefined ? undefined : claims[claim]
  return Array.isArray(value) ? value : [value]
}
