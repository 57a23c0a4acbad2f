import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { SharedStoreUnavailable } from '@open-payments-server/shared-store'
import { ServiceAway } from '../../domain/grant.js'
import { isLocalPath, type Session } from '../../domain/session.js'
import { SignInFailed, type SignedIn } from '../../modules/issuer/index.js'
import { isLanguage, type Speech } from '../../words/languages.js'
import type { WayOn } from '../../pages/notice.js'
import { comeBack, passBy, type Pending, type Purpose } from '../passing-by.js'
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

/** Goes on with what somebody wants once they have confirmed it at the issuer. */
export type FinishConfirmed = (
  request: HttpRequest,
  response: HttpResponse,
  confirmed: { readonly pending: Pending; readonly signedIn: SignedIn }
) => Promise<void>

/** What signing in needs. */
export interface SignInDependencies {
  readonly site: Site
  /** By what was confirmed; undefined where nothing is. */
  readonly finish: Readonly<Record<Exclude<Purpose['kind'], 'sign-in'>, FinishConfirmed>> | undefined
  readonly logger: Pick<Logger, 'warn'>
}

/**
 * Signing in and out: `/sign-in?to=…`, `/signed-in` (where the issuer sends browsers back), `POST /sign-out`, `/signed-out`,
 * `POST /signed-out-at-issuer` (where the issuer says that somebody signed out of it), and `/language`, which sets the language of
 * the pages.
 */
export function signInRoutes(dependencies: SignInDependencies): Route[] {
  const { site } = dependencies
  return [
    { method: 'GET', path: '/sign-in', handle: (request, response) => signIn(site, request, response) },
    {
      method: 'GET',
      path: '/signed-in',
      handle: (request, response) => signedIn(dependencies, request, response)
    },
    { method: 'POST', path: '/sign-out', handle: (request, response) => signOut(site, request, response) },
    {
      method: 'POST',
      path: '/signed-out-at-issuer',
      handle: (request, response) => endOfIssuer(site, request, response)
    },
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
  { site, finish, logger }: SignInDependencies,
  request: HttpRequest,
  response: HttpResponse
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
    if (purpose.kind !== 'sign-in') {
      if (finish === undefined) throw new Error('nobody confirms anything here')
      await finish[purpose.kind](request, response, { pending, signedIn: back })
      return
    }
    await startSession(site, request, response, back)
    goTo(site, response, purpose.to)
  } catch (error) {
    const wayOn = wayBackTo(purpose, speechFor(site, request))
    if (error instanceof ServiceAway || error instanceof SharedStoreUnavailable) {
      // What the issuer sent back counts once: reloading this page would lead nowhere.
      logger.warn({ err: error }, 'somebody who came back from the issuer has to go there again')
      sendNotice(site, request, response, { status: 503, notice: 'interrupted', wayOn })
      return
    }
    if (!(error instanceof SignInFailed)) throw error
    const notice = error.isCancelled ? 'sign-in-cancelled' : 'failed'
    sendNotice(site, request, response, { status: error.isCancelled ? 403 : 400, notice, wayOn })
  }
}

/** Where somebody goes on whom the issuer did not sign in. */
function wayBackTo(purpose: Purpose, { messages }: Speech): WayOn {
  if (purpose.kind === 'sign-in')
    return { label: messages.signIn, to: `/sign-in?${new URLSearchParams({ to: purpose.to }).toString()}` }
  if (purpose.kind === 'resumption') return { label: messages.lookAgain, to: `/allowed/${purpose.grantId}` }
  const { interactId, nonce } = purpose
  return {
    label: messages.lookAgain,
    to: `/consent?${new URLSearchParams({ interactId, nonce }).toString()}`
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
    issuerSession: typeof claims.sid === 'string' ? claims.sid : undefined,
    roles: rolesOf(claims, site.rolesClaim)
  })
  response.addField('Set-Cookie', cookie)
  for (const kept of await site.tokens.keep(session, idToken)) response.addField('Set-Cookie', kept)
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
  const hint = await site.tokens.hint(request.get('cookie'), session)
  for (const gone of site.tokens.forget(request.get('cookie'))) response.addField('Set-Cookie', gone)
  const url = await site.issuer.signOutUrl(hint)
  if (url === undefined) goTo(site, response, '/signed-out')
  else response.seeOther(url)
}

/** Takes the word of the issuer that a session there has ended (OpenID Connect Back-Channel Logout 1.0 §2.5, §2.8). */
async function endOfIssuer(site: Site, request: HttpRequest, response: HttpResponse): Promise<void> {
  const issuerSession = await site.issuer.endedSession(readForm(request).get('logout_token') ?? '')
  if (issuerSession === undefined) {
    response.sendJson(400, {
      error: 'invalid_request',
      error_description: 'logout_token: not by the issuer for this client'
    })
    return
  }
  await site.sessions.endOfIssuer(issuerSession)
  response.sendJson(200, {})
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
