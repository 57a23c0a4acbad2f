import { randomBytes } from 'node:crypto'
import express, {
  type CookieOptions,
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response
} from 'express'
import { z } from 'zod'
import { type AntiForgery, createAntiForgery } from './anti-forgery.js'
import type { Html } from './html.js'
import {
  type GrantDetails,
  type IdentityProvider,
  IdentityProviderUnavailable,
  type InteractionAddress,
  InteractionOver
} from './identity-provider.js'
import { type AskingClient, consentPage, noticePage, presentableName } from './page.js'
import { ICON, STYLE } from './style.js'

const COOKIE = 'open_payments_consent'
/** How long a browser is remembered as the one that decided, in milliseconds. */
const DECISION_KEPT_MS = 86_400_000
const FORM_BYTES_MAX = 4_096
const FORM_FIELDS_MAX = 10
/** Bytes of the key that signs the proofs in forms. */
const KEY_BYTES = 32

const identifier = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/)
const query = z.object({
  interactId: identifier,
  nonce: identifier,
  clientName: z.string().max(1_024).optional().catch(undefined),
  clientUri: z.string().max(2_048).optional().catch(undefined)
})
const form = z.object({
  interactId: identifier,
  nonce: identifier,
  proof: z.string().max(128),
  choice: z.enum(['accept', 'reject'])
})

/** Dependencies of the consent page. */
export interface ConsentPageOptions {
  readonly identityProvider: IdentityProvider
  /** The auth server's grant endpoint: interactions finish below it. */
  readonly authServer: string
  /** Public URL of this page. With https, its cookie is sent only over https. */
  readonly publicUrl: string
  /** The current time in milliseconds since 1970; the machine's clock unless given. */
  readonly now?: () => number
  /** Receives errors that are not shown to people: why the auth server could not be asked. */
  readonly log: (error: Error) => void
}

/**
 * The page where an account holder accepts or declines a client's request. It uses only the identity-provider API, stores nothing,
 * and runs no script.
 */
export function createConsentPage(options: ConsentPageOptions): Express {
  const antiForgery = createAntiForgery(randomBytes(KEY_BYTES))
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  app.use(guard)
  app.get('/style.css', asset('text/css', STYLE))
  app.get('/icon.svg', asset('image/svg+xml', ICON))
  app.get('/', ask(options, antiForgery))
  const readForm = express.urlencoded({
    extended: false,
    limit: FORM_BYTES_MAX,
    parameterLimit: FORM_FIELDS_MAX
  })
  app.post('/', readForm, answer(options, antiForgery))
  app.use((_request, response) => {
    send(
      response,
      404,
      noticePage('There is no such page', ['Start again from the site that sent you here.'])
    )
  })
  app.use(renderErrors(options))
  return app
}

/** No script, no frame, nothing from other origins, nothing cached. */
const guard: RequestHandler = (_request, response, next) => {
  response.set({
    // A decision redirects through the auth server to the client's finish URL. Browsers check redirects of a form against
    // form-action, so it cannot name a host; it still excludes other schemes.
    'Content-Security-Policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action http: https:; base-uri 'none'; frame-ancestors 'none'",
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    // The URL contains the interaction's nonce.
    'Referrer-Policy': 'no-referrer',
    // A page that opened this one in a window gets no reference to it.
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store'
  })
  next()
}

function asset(type: string, content: string): RequestHandler {
  return (_request, response) => {
    response.set('Cache-Control', 'public, max-age=300').type(type).send(content)
  }
}

function ask(options: ConsentPageOptions, antiForgery: AntiForgery): RequestHandler {
  return async (request, response) => {
    const parsed = query.safeParse(request.query)
    if (!parsed.success) {
      send(
        response,
        400,
        noticePage('This link is not complete', ['Start again from the site that sent you here.'])
      )
      return
    }
    const { interactId, nonce, clientName, clientUri } = parsed.data
    const address = { interactId, nonce }
    const details = await options.identityProvider.getGrant(address)
    const cookie = readCookie(request, antiForgery, options)
    if (details.state !== 'PENDING') {
      // The deciding browser is shown the decision; all others, that the request is over.
      if (!hasDecided(request, cookie, address, antiForgery, options)) throw new InteractionOver('ended')
      send(response, 409, decidedPage(options, address, details.state))
      return
    }
    const leftMs = msUntil(details.expiresAt, options)
    if (leftMs <= 0) {
      send(response, 410, expiredPage())
      return
    }
    // At its expiry an open page is replaced by one without an accept button.
    if (leftMs < Infinity) response.set('Refresh', String(Math.ceil(leftMs / 1_000)))
    const client = askingClient(details, clientName, clientUri)
    const proof = antiForgery.proofFor('form', cookie ?? giveCookie(response, antiForgery, options), address)
    send(response, 200, consentPage({ client, details, address, proof }))
  }
}

/**
 * Anyone can write the query; the details come from the auth server and take precedence. If they do not contain the client's name,
 * the name in the query is used only if the query names the same client.
 */
function askingClient(
  details: GrantDetails,
  name: string | undefined,
  uri: string | undefined
): AskingClient {
  const known = details.client ?? uri
  const claimed = known === uri ? name : undefined
  return { name: presentableName(details.clientName ?? claimed), uri: known }
}

function answer(options: ConsentPageOptions, antiForgery: AntiForgery): RequestHandler {
  return async (request, response) => {
    const parsed = form.safeParse(request.body)
    if (!parsed.success) {
      send(
        response,
        400,
        noticePage('This form is not complete', ['Start again from the site that sent you here.'])
      )
      return
    }
    const { interactId, nonce, proof, choice } = parsed.data
    const address = { interactId, nonce }
    const cookie = readCookie(request, antiForgery, options)
    if (
      isFromElsewhere(request, options) ||
      cookie === undefined ||
      !antiForgery.isProof(proof, 'form', cookie, address)
    ) {
      const sentences = [
        'Your choice was not sent from a page that this browser was shown, so nothing was done.'
      ]
      send(
        response,
        403,
        noticePage('Nothing was done', [...sentences, 'Go back, reload the page, and choose again.'])
      )
      return
    }
    if (hasDecided(request, cookie, address, antiForgery, options)) {
      const { state } = await options.identityProvider.getGrant(address)
      send(response, 409, decidedPage(options, address, state))
      return
    }
    const finishCode = await choose(options.identityProvider, address, choice)
    giveDecision(response, cookie, address, antiForgery, options)
    response.redirect(303, finishUrl(options, address, finishCode))
  }
}

/** @returns the code that the browser needs to finish; undefined when it needs none */
async function choose(
  identityProvider: IdentityProvider,
  address: InteractionAddress,
  choice: 'accept' | 'reject'
): Promise<string | undefined> {
  if (choice === 'accept') return identityProvider.accept(address)
  await identityProvider.reject(address)
  return undefined
}

/** Browsers say where a request originated. With no-referrer they hide the origin of our own forms (`null`), but not this. */
function isFromElsewhere(request: Request, { publicUrl }: ConsentPageOptions): boolean {
  const site = request.get('sec-fetch-site') ?? 'same-origin'
  const origin = request.get('origin') ?? 'null'
  return site !== 'same-origin' || (origin !== 'null' && origin !== new URL(publicUrl).origin)
}

/** Over https the cookie has the prefix that keeps other hosts, and pages on http, from planting one. */
function cookieName({ publicUrl }: ConsentPageOptions): string {
  return publicUrl.startsWith('https:') ? `__Host-${COOKIE}` : COOKIE
}

/** A browser that decides several requests has a cookie for each. */
function decisionCookieName(options: ConsentPageOptions, { interactId }: InteractionAddress): string {
  return `${cookieName(options)}_${interactId}`
}

function readCookie(
  request: Request,
  antiForgery: AntiForgery,
  options: ConsentPageOptions
): string | undefined {
  const value = cookieOf(request, cookieName(options))
  return antiForgery.isCookie(value) ? value : undefined
}

function cookieOf(request: Request, wanted: string): string | undefined {
  const pairs = (request.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
  const [, value] = pairs.find(([name]) => name === wanted) ?? []
  return value
}

function giveCookie(response: Response, antiForgery: AntiForgery, options: ConsentPageOptions): string {
  const cookie = antiForgery.newCookie()
  response.cookie(cookieName(options), cookie, cookieOptions(options))
  return cookie
}

/** Whether the request was decided in this browser. */
function hasDecided(
  request: Request,
  cookie: string | undefined,
  address: InteractionAddress,
  antiForgery: AntiForgery,
  options: ConsentPageOptions
): boolean {
  const decision = cookieOf(request, decisionCookieName(options, address))
  return (
    decision !== undefined &&
    cookie !== undefined &&
    antiForgery.isProof(decision, 'decision', cookie, address)
  )
}

function giveDecision(
  response: Response,
  cookie: string,
  address: InteractionAddress,
  antiForgery: AntiForgery,
  options: ConsentPageOptions
): void {
  response.cookie(decisionCookieName(options, address), antiForgery.proofFor('decision', cookie, address), {
    ...cookieOptions(options),
    maxAge: DECISION_KEPT_MS
  })
}

/** Lax, so that a second tab that comes from another site sends the cookie of the first, which then stays. */
function cookieOptions({ publicUrl }: ConsentPageOptions): CookieOptions {
  return { httpOnly: true, sameSite: 'lax', secure: publicUrl.startsWith('https:'), path: '/' }
}

/** Infinity when the auth server does not say. */
function msUntil(instant: Date | undefined, { now = Date.now }: ConsentPageOptions): number {
  return instant === undefined ? Infinity : instant.getTime() - now()
}

function finishUrl(
  { authServer }: ConsentPageOptions,
  { interactId, nonce }: InteractionAddress,
  finishCode: string | undefined
): string {
  const base = authServer.endsWith('/') ? authServer : `${authServer}/`
  const url = new URL(`interact/${interactId}/${nonce}/finish`, base)
  if (finishCode !== undefined) url.searchParams.set('code', finishCode)
  return url.href
}

/** For the browser that decided. After an approval it has already been sent back; after a refusal it gets a link back. */
function decidedPage(
  options: ConsentPageOptions,
  address: InteractionAddress,
  state: GrantDetails['state']
): Html {
  const recorded = 'Your choice was recorded; it cannot be changed here.'
  if (state === 'APPROVED') {
    const whatNow = 'If the site that asked you does not go on, start again from there.'
    return noticePage('You accepted this request already', [recorded, whatNow])
  }
  return noticePage('You declined this request already', [recorded], {
    href: finishUrl(options, address, undefined),
    words: 'Go back to the site that asked'
  })
}

function expiredPage(): Html {
  return noticePage('This request has expired', [
    'It waited too long for an answer. Nothing was agreed to, and it can no longer be accepted.',
    'If you still want to go on, start again from the site that asked you.'
  ])
}

function renderErrors(options: ConsentPageOptions): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    if (error instanceof InteractionOver) {
      send(response, error.reason === 'unknown' ? 404 : 410, overPage())
      return
    }
    const status = statusOf(error)
    if (status >= 400 && status < 500) {
      send(
        response,
        status,
        noticePage('This cannot be read', ['Start again from the site that sent you here.'])
      )
      return
    }
    options.log(error instanceof Error ? error : new Error(String(error)))
    const sentences = [
      'Your wallet cannot be reached right now. Nothing was done.',
      'Reload this page in a moment.'
    ]
    send(
      response,
      error instanceof IdentityProviderUnavailable ? 503 : 500,
      noticePage('Please try again', sentences)
    )
  }
}

function overPage(): Html {
  return noticePage('This request is over', [
    'It was answered already, was withdrawn, or waited too long. Nothing more can be done with it.',
    'If you still want to go on, start again from the site that asked you.'
  ])
}

function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500
}

function send(response: Response, status: number, page: Html): void {
  response.status(status).type('html').send(page.text)
}
