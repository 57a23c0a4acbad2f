import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import type { Logger } from '@open-payments-server/runtime'
import { newId } from '@open-payments-server/value-types/identifiers'
import { ServiceAway } from '../../domain/grant.js'
import type { Session } from '../../domain/session.js'
import type { ConsoleView, Surroundings } from '../../pages/console/blocks.js'
import { consolePage } from '../../pages/console/page.js'
import { type ConsoleWords, consoleWords } from '../../words/console/words.js'
import { isLanguage, type Speech } from '../../words/languages.js'
import {
  type OperateAs,
  type Operated,
  OperationProposed,
  OperationRefused,
  TokenRefused
} from '../operated.js'
import { isRepeat, repeating } from '../forms.js'
import { passBy } from '../passing-by.js'
import { frameOf, isOwnForm, readForm, sendPage, type Site, speechFor } from '../site.js'
import { createShow, type Show } from './show.js'

/** What the console needs. */
export interface ConsoleDependencies {
  readonly site: Site
  readonly operateAs: OperateAs
  readonly logger: Pick<Logger, 'error' | 'warn'>
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

/** Field of a form with the language that it is in: what was typed is read in that. */
export const LANGUAGE_FIELD = 'language'
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
  const idToken = session && (await site.tokens.find(cookies, session))
  const fields = readForm(request)
  const language = fields.get(LANGUAGE_FIELD) ?? undefined
  const speech = speechFor(site, request, isLanguage(language) ? language : undefined)
  const t = consoleWords(speech.language)
  const send = (reply: ConsoleView & { readonly status?: number }): void => {
    sendConsole(site, request, response, { session, speech, t, reply })
  }
  if (session === undefined || idToken === undefined) {
    await signInAgain(site, request, response, session, send)
    return
  }
  const token = fields.get('token') ?? ''
  if (request.method === 'POST' && !isOwnForm(site, request, session, { purpose: FORM, token })) {
    send(notTaken(fields, t, 'forged', []))
    return
  }
  if (session.roles.length === 0) {
    send({ status: 403, title: t('noRole'), blocks: [{ kind: 'text', text: t('noRoleText') }] })
    return
  }
  const { logger } = dependencies
  const visit = createVisit(site, request, session, {
    t,
    speech,
    fields,
    logger,
    operated: operateAs(idToken)
  })
  try {
    const reply = await handle(visit)
    if ('goTo' in reply) response.seeOther(`${site.origin}${reply.goTo}`)
    else send(reply)
  } catch (error) {
    if (error instanceof TokenRefused) await signInAgain(site, request, response, session, send)
    else if (error instanceof OperationProposed) send(proposed(error, t))
    else if (error instanceof OperationRefused) send(refusal(error, visit))
    else if (error instanceof ServiceAway && request.method === 'POST') {
      logger.warn({ err: error }, 'it is not known whether an act of the console was done')
      send(unsure(visit))
    } else throw error
  }
}

function createVisit(
  site: Site,
  request: HttpRequest,
  session: Session,
  parts: Pick<Visit, 't' | 'speech' | 'fields' | 'logger' | 'operated'>
): Visit {
  return {
    ...parts,
    request,
    session,
    show: createShow(parts.t, parts.speech),
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
  if (request.method === 'GET') {
    const again = { label: t('signInAgain'), href: '/' }
    send({
      status: 403,
      title: t('signInRefused'),
      blocks: [
        { kind: 'text', text: t('signInRefusedText'), tone: 'bad' },
        { kind: 'acts', acts: [again] }
      ]
    })
    return
  }
  const href = `/sign-in?${new URLSearchParams({ to: backOf(request) }).toString()}`
  send(notTaken(readForm(request), t, 'signInOver', [{ label: t('signInAgain'), href }]))
}

/** A form that did nothing. What it repeats may have been done all the same, when it was sent before. */
function notTaken(
  fields: URLSearchParams,
  t: ConsoleWords,
  why: 'forged' | 'signInOver',
  acts: readonly { readonly label: string; readonly href: string }[]
): ConsoleView & { readonly status: number } {
  const repeats = isRepeat(fields)
  return {
    status: 403,
    title: t(repeats ? 'unsure' : 'nothingDone'),
    blocks: [
      { kind: 'text', text: t(repeats ? 'repeatNotTaken' : why), tone: 'bad' },
      { kind: 'acts', acts }
    ]
  }
}

/** The service may have done what was sent, or do it yet. The same form can be sent again: what has a key is done once. */
function unsure({ request, fields, t }: Visit): ConsoleView & { readonly status: number } {
  return {
    status: 503,
    title: t('unsure'),
    blocks: [
      { kind: 'text', text: t('unsureText'), tone: 'waiting' },
      {
        kind: 'confirm',
        action: request.path,
        hidden: repeating(fields),
        fields: [],
        button: t('repeat'),
        cancel: { label: t('actions'), href: '/actions' }
      }
    ]
  }
}

/** The page whose form was sent; what was done, for one that repeats: a new form would do it anew. */
function backOf(request: HttpRequest): string {
  const fields = readForm(request)
  if (isRepeat(fields)) return '/actions'
  const subject = fields.get('subject')
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

/** What was refused. From a form it leads back to where it can be filled in anew. */
function refusal(
  { because, message }: OperationRefused,
  { request, t }: Visit
): ConsoleView & { readonly status: number } {
  const told = (status: number, title: string, text: string): ConsoleView & { readonly status: number } => ({
    status,
    title,
    blocks: [
      { kind: 'text', text, tone: 'bad' },
      {
        kind: 'acts',
        acts: request.method === 'POST' ? [{ label: t('goBack'), href: backOf(request) }] : []
      }
    ]
  })
  switch (because) {
    case 'not-found':
      return told(404, t('notFound'), message)
    case 'not-allowed':
      return told(403, t('notAllowed'), t('notAllowedText', message))
    case 'invalid':
      return told(400, t('refused'), t('refusedText', message))
    case 'not-possible':
      return told(409, t('refused'), t('refusedText', message))
  }
}

function sendConsole(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  {
    session,
    speech,
    t,
    reply
  }: {
    session: Session | undefined
    speech: Speech
    t: ConsoleWords
    reply: ConsoleView & { status?: number }
  }
): void {
  const path = request.method === 'GET' ? request.originalUrl : undefined
  const frame = frameOf(site, speech, session, path)
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
