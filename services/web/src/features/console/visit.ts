import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { newId } from '@open-payments-server/value-types/identifiers'
import type { Session } from '../../domain/session.js'
import type { ConsoleView, Surroundings } from '../../pages/console/blocks.js'
import { consolePage } from '../../pages/console/page.js'
import { type ConsoleWords, consoleWords } from '../../words/console/words.js'
import type { Speech } from '../../words/languages.js'
import {
  type OperateAs,
  type Operated,
  OperationProposed,
  OperationRefused,
  TokenRefused
} from '../operated.js'
import { passBy } from '../passing-by.js'
import { frameOf, isOwnForm, readForm, sendPage, type Site, speechFor } from '../site.js'
import { createShow, type Show } from './show.js'

/** What the console needs. */
export interface ConsoleDependencies {
  readonly site: Site
  readonly operateAs: OperateAs
  readonly logger: Pick<Logger, 'error' | 'info'>
}

/** Roles that acts need. */
export type ActingRole = 'operator' | 'approver'

/** Somebody who asks for a page, or sends a form, and may do either. */
export interface Visit {
  readonly request: HttpRequest
  readonly session: Session
  /** What is written on pages. */
  readonly t: ConsoleWords
  readonly speech: Speech
  readonly show: Show
  readonly operated: Operated
  /** Of the address. */
  readonly query: URLSearchParams
  /** Fields of the form that was sent; none without. */
  readonly fields: URLSearchParams
  /** What forms carry, and nobody else knows. */
  readonly formToken: string
  readonly nowMs: number
  readonly logger: ConsoleDependencies['logger']
  /** A new id (UUID), by which repeating an act has no further effect. */
  newKey(): string
  /** Whether they have a role. Only for what is shown: the services decide. */
  may(role: ActingRole): boolean
}

/** What answers a visit: a page, or another path. */
export type Reply = (ConsoleView & { readonly status?: number }) | { readonly goTo: string }

/** What forms of the console carry a token for. */
const FORM = 'console'
/** Nobody is sent to the issuer again this soon, in milliseconds: if that changes nothing, it would not end. */
const AGAIN_MS = 10_000

/** A route of the console: only whoever signed in, with a token that is not over, gets further than here. */
export function consoleRoute(
  dependencies: ConsoleDependencies,
  method: 'GET' | 'POST',
  path: string,
  handle: (visit: Visit) => Promise<Reply>
): Route {
  return {
    method,
    path,
    handle: (request, response) => answer(dependencies, request, response, handle)
  }
}

async function answer(
  dependencies: ConsoleDependencies,
  request: HttpRequest,
  response: HttpResponse,
  handle: (visit: Visit) => Promise<Reply>
): Promise<void> {
  const { site, operateAs } = dependencies
  const cookies = request.get('cookie')
  const session = await site.sessions.find(cookies)
  const idToken = session && (await site.tokens?.find(cookies, session))
  const t = consoleWords(speechFor(site, request).language)
  const send = (reply: ConsoleView & { readonly status?: number }): void => {
    sendConsole(site, request, response, { session, t, reply })
  }
  if (session === undefined || idToken === undefined) {
    await signInAgain(site, request, response, session, send)
    return
  }
  const fields = readForm(request)
  const token = fields.get('token') ?? ''
  if (request.method === 'POST' && !isOwnForm(site, request, session, { purpose: FORM, token })) {
    send({ status: 403, title: t('nothingDone'), blocks: [{ kind: 'text', text: t('forged'), tone: 'bad' }] })
    return
  }
  if (session.roles.length === 0) {
    send({ status: 403, title: t('noRole'), blocks: [{ kind: 'text', text: t('noRoleText') }] })
    return
  }
  const { logger } = dependencies
  const visit = createVisit(site, request, session, { t, fields, logger, operated: operateAs(idToken) })
  try {
    const reply = await handle(visit)
    if ('goTo' in reply) response.seeOther(`${site.origin}${reply.goTo}`)
    else send(reply)
  } catch (error) {
    if (error instanceof TokenRefused) await signInAgain(site, request, response, session, send)
    else if (error instanceof OperationProposed) send(proposed(error, t))
    else if (error instanceof OperationRefused) send(refusal(error, t))
    else throw error
  }
}

function createVisit(
  site: Site,
  request: HttpRequest,
  session: Session,
  parts: Pick<Visit, 't' | 'fields' | 'logger' | 'operated'>
): Visit {
  const speech = speechFor(site, request)
  return {
    ...parts,
    request,
    session,
    speech,
    show: createShow(parts.t, speech),
    query: new URLSearchParams(request.originalUrl.slice(request.path.length + 1)),
    formToken: site.sessions.formToken(session, FORM),
    nowMs: site.clock.now(),
    newKey: () => newId(site.clock, site.random),
    may: (role) => session.roles.includes(role)
  }
}

/**
 * A page is asked for again after the sign-in, which is silent where the issuer knows the browser. What was sent with a form is not: that
 * would be done without anybody looking.
 */
async function signInAgain(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  session: Session | undefined,
  send: (reply: ConsoleView & { readonly status: number }) => void
): Promise<void> {
  const t = consoleWords(speechFor(site, request).language)
  const isAgain = session !== undefined && site.clock.now() - session.startedSeconds * 1_000 < AGAIN_MS
  if (request.method === 'GET' && !isAgain) {
    await passBy(site, request, response, { purpose: { kind: 'sign-in', to: request.originalUrl } })
    return
  }
  const to =
    request.method === 'GET' ? '/' : `/sign-in?${new URLSearchParams({ to: backOf(request) }).toString()}`
  send({
    status: 403,
    title: request.method === 'GET' ? t('signInRefused') : t('nothingDone'),
    blocks: [
      { kind: 'text', text: t(request.method === 'GET' ? 'signInRefusedText' : 'signInOver'), tone: 'bad' },
      { kind: 'acts', acts: [{ label: t('signInAgain'), href: to }] }
    ]
  })
}

/** The page whose form was sent. */
function backOf(request: HttpRequest): string {
  const subject = readForm(request).get('subject')
  return subject === null ? '/' : `${request.path}?${new URLSearchParams({ subject }).toString()}`
}

function proposed(
  { service, proposalId }: OperationProposed,
  t: ConsoleWords
): ConsoleView & { readonly status: number } {
  return {
    status: 202,
    title: t('proposed'),
    blocks: [
      { kind: 'text', text: t('proposedText'), tone: 'waiting' },
      { kind: 'acts', acts: [{ label: t('proposal'), href: `/proposals/${service}/${proposalId}` }] }
    ]
  }
}

function refusal(
  { because, message }: OperationRefused,
  t: ConsoleWords
): ConsoleView & { readonly status: number } {
  switch (because) {
    case 'not-found':
      return { status: 404, title: t('notFound'), blocks: [{ kind: 'text', text: message, tone: 'bad' }] }
    case 'not-allowed':
      return {
        status: 403,
        title: t('notAllowed'),
        blocks: [{ kind: 'text', text: t('notAllowedText', message), tone: 'bad' }]
      }
    case 'invalid':
    case 'not-possible':
      return {
        status: because === 'invalid' ? 400 : 409,
        title: t('refused'),
        blocks: [{ kind: 'text', text: t('refusedText', message), tone: 'bad' }]
      }
  }
}

function sendConsole(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  {
    session,
    t,
    reply
  }: { session: Session | undefined; t: ConsoleWords; reply: ConsoleView & { status?: number } }
): void {
  const path = request.method === 'GET' ? request.originalUrl : undefined
  const frame = frameOf(site, speechFor(site, request), session, path)
  const around: Surroundings = {
    navigation: SECTIONS.map(([section, href]) => ({ section, href, label: t(section) })),
    navigationLabel: t('navigation'),
    searchLabel: t('search'),
    searchHint: t('searchHint'),
    searchButton: t('searchButton'),
    nextLabel: t('next'),
    asTableLabel: t('asTable'),
    timesText: t('timesText'),
    search:
      request.path === '/search' ? (new URLSearchParams(request.originalUrl.slice(8)).get('q') ?? '') : ''
  }
  sendPage(response, reply.status ?? 200, consolePage(frame, around, reply))
}

/** The pages of the navigation, by the words for them. */
const SECTIONS = [
  ['overview', '/'],
  ['payments', '/payments'],
  ['approvals', '/approvals'],
  ['accounts', '/accounts'],
  ['walletAddresses', '/wallet-addresses'],
  ['grants', '/grants'],
  ['clients', '/clients'],
  ['peers', '/peers'],
  ['endpoints', '/endpoints'],
  ['audits', '/audits'],
  ['proposals', '/proposals'],
  ['actions', '/actions']
] as const
