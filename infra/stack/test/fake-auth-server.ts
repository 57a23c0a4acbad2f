import { randomBytes } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createConsentPage, createIdentityProvider } from '../src/index.js'

export const SECRET = 'a-secret-of-the-identity-provider'
export const CLIENT = 'https://shop.example/pay'

/** What the fake says of one interaction. */
export interface FakeInteraction {
  state: 'PENDING' | 'APPROVED' | 'DENIED'
  /** What the approval handed out. */
  finishCode?: string
  details: object
}

/** A consent page, and what it talks to, on free ports. */
export interface ConsentSetting {
  readonly pageUrl: string
  readonly authServer: string
  /** The client's finish URL: another host. */
  readonly callbackUrl: string
  readonly interactions: Map<string, FakeInteraction>
  /** Answers instead of the API when set. */
  broken: number | undefined
  readonly logged: Error[]
  /** The address of an interaction's page. */
  consentUrl(id: string, parameters?: Record<string, string>): string
  stop(): Promise<void>
}

/** Access to pay 25.00 USD a month from alice. */
export const payingAccess = {
  type: 'outgoing-payment',
  actions: ['create', 'read'],
  identifier: 'https://wallet.example/alice',
  limits: {
    debitAmount: { value: '2500', assetCode: 'USD', assetScale: 2 },
    interval: 'R12/2026-01-01T00:00:00Z/P1M'
  }
}

/** Starts a consent page on an identity-provider API that behaves as interface and reference implementation say. */
export async function startConsentSetting(): Promise<ConsentSetting> {
  const interactions = new Map<string, FakeInteraction>()
  const setting = { broken: undefined as number | undefined, logged: [] as Error[] }
  const app = express()
  app.get('/callback', (request, response) => {
    response.send(
      `the client was told ${typeof request.query.result === 'string' ? request.query.result : 'yes'}`
    )
  })
  app.use('/grant', (request, response, next) => {
    if (setting.broken !== undefined) response.status(setting.broken).end()
    else if (request.get('x-idp-secret') !== SECRET) response.status(401).end()
    else next()
  })
  app.get('/grant/:id/:nonce', (request, response) => {
    const interaction = interactions.get(request.params.id)
    if (interaction === undefined) response.status(404).end()
    else response.json({ grantId: 'g', ...interaction.details, state: interaction.state })
  })
  app.post('/grant/:id/:nonce/:choice', express.json(), (request, response) => {
    const interaction = interactions.get(request.params.id)
    if (interaction?.state !== 'PENDING') {
      response.status(interaction === undefined ? 404 : 400).end()
      return
    }
    interaction.state = request.params.choice === 'accept' ? 'APPROVED' : 'DENIED'
    if (!(request.body as { finishCode?: boolean } | undefined)?.finishCode) {
      response.status(202).end()
      return
    }
    interaction.finishCode = randomBytes(32).toString('base64url')
    response.status(202).json({ finishCode: interaction.finishCode })
  })
  const auth = await listen(app)
  const authPort = (auth.address() as AddressInfo).port
  const authServer = `http://localhost:${String(authPort)}/`
  const callbackUrl = `http://127.0.0.1:${String(authPort)}/callback`
  app.get('/interact/:id/:nonce/finish', (request, response) => {
    const interaction = interactions.get(request.params.id)
    if (interaction?.finishCode !== request.query.code) {
      response.status(401).end()
      return
    }
    const denied = interaction?.state === 'DENIED'
    const query = denied ? 'result=grant_rejected' : 'hash=h&interact_ref=r'
    response.redirect(303, `${callbackUrl}?${query}`)
  })

  const page = await listen()
  const pageUrl = `http://localhost:${String((page.address() as AddressInfo).port)}/`
  const consentPage = createConsentPage({
    identityProvider: createIdentityProvider({ api: authServer.slice(0, -1), secret: SECRET }),
    authServer,
    publicUrl: pageUrl,
    log: (error) => setting.logged.push(error)
  })
  page.on('request', consentPage as RequestListener)
  return Object.assign(setting, {
    pageUrl,
    authServer,
    callbackUrl,
    interactions,
    consentUrl: (id: string, parameters: Record<string, string> = {}) =>
      `${pageUrl}?${new URLSearchParams({ interactId: id, nonce: 'n0nce', clientName: 'Corner Shop', clientUri: CLIENT, ...parameters }).toString()}`,
    stop: async () => {
      await Promise.all([auth, page].map((server) => close(server)))
    }
  })
}

function listen(app?: express.Express): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(app)
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      resolve(server)
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve()
    })
    server.closeAllConnections()
  })
}
