import express, { type Express, type Request, type Response } from 'express'
import type { Provider } from 'oidc-provider'
import { z } from 'zod'
import type { IssuerOptions, Person } from './options.js'
import { noticePage, signInPage, STYLE, STYLE_PATH } from './pages.js'
import { authenticate } from './passwords.js'
import { PASSWORD_ACR } from './provider.js'

const formSchema = z.object({ username: z.string().max(256), password: z.string().max(1_024) })
const buttonSchema = z.object({ person: z.string() })

/** What the listener serves. */
export interface AppParts {
  readonly options: IssuerOptions
  /** The provider of this moment: another one after keys were rotated. */
  readonly provider: () => Provider
}

/** Creates the listener: the sign-in page, and everything else by the provider. */
export function createApp({ options, provider }: AppParts): Express {
  const app = express()
  app.disable('x-powered-by')
  app.use((_request, response, next) => {
    response.set({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer'
    })
    next()
  })
  app.get(STYLE_PATH, (_request, response) => {
    response.type('css').send(STYLE)
  })
  app.get('/sign-in/:uid', (request, response) => showForm(options, provider(), request, response))
  app.post('/sign-in/:uid', express.urlencoded({ extended: false, limit: '8kb' }), (request, response) =>
    signIn(options, provider(), request, response)
  )
  app.use((request, response) => provider().callback()(request, response))
  return app
}

/**
 * `script-src` is for the library: it adds the hash of the script by which its page goes on when another person signs in than was
 * signed in. Without scripts that page has a button.
 *
 * Browsers hold `form-action` against every redirect after a form: those lead to the pages, and on from there to whoever asked for
 * consent, so it cannot name hosts.
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https: http:"

async function showForm(
  options: IssuerOptions,
  provider: Provider,
  request: Request,
  response: Response
): Promise<void> {
  const interaction = await findInteraction(provider, request, response)
  if (interaction === undefined) return
  if (interaction.prompt.name !== 'login') {
    // Only a client that asks for `prompt=consent` comes here, and there is nothing to ask.
    await provider.interactionFinished(request, response, { consent: {} }, { mergeWithLastSubmission: true })
    return
  }
  const client = String(interaction.params.client_id)
  const page = { client, action: request.path, username: '', isWrong: false, offered: offered(options) }
  sendPage(response, 200, signInPage(page))
}

async function signIn(
  options: IssuerOptions,
  provider: Provider,
  request: Request,
  response: Response
): Promise<void> {
  const interaction = await findInteraction(provider, request, response)
  if (interaction === undefined) return
  const form = formSchema.safeParse(request.body)
  const button = buttonSchema.safeParse(request.body)
  const username = form.data?.username ?? ''
  const person = form.success
    ? authenticate(options.people, username, form.data.password)
    : offered(options).find((candidate) => candidate.username === button.data?.person)
  if (person === undefined) {
    const client = String(interaction.params.client_id)
    const page = { client, action: request.path, username, isWrong: true, offered: offered(options) }
    sendPage(response, 401, signInPage(page))
    return
  }
  const how = form.success ? { acr: PASSWORD_ACR, amr: ['pwd'] } : {}
  const login = { accountId: person.sub, ...how }
  await provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false })
}

/** Who signs in without a password. */
function offered({ people, withoutPassword }: IssuerOptions): readonly Person[] {
  return withoutPassword ? people : []
}

/** The sign-in that this browser has begun. Answers by itself when there is none. */
async function findInteraction(
  provider: Provider,
  request: Request,
  response: Response
): Promise<Awaited<ReturnType<Provider['interactionDetails']>> | undefined> {
  try {
    const interaction = await provider.interactionDetails(request, response)
    if (interaction.uid === request.params.uid) return interaction
  } catch (error) {
    if (!isSessionNotFound(error)) throw error
  }
  const text = 'This page is too old, or was opened in another browser. Go back, and sign in anew.'
  sendPage(response, 400, noticePage('Nothing to sign in to', text))
  return undefined
}

function isSessionNotFound(error: unknown): boolean {
  return error instanceof Error && error.name === 'SessionNotFound'
}

function sendPage(response: Response, status: number, page: string): void {
  response.status(status).set('cache-control', 'no-store').type('html').send(page)
}
