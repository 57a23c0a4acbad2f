import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { startSystem, type System } from '@open-payments-server/acceptance'
import { startDevelopmentIssuer } from '@open-payments-server/development-issuer'
import { findFreePorts } from '@open-payments-server/local-services'
import { createLogger } from '@open-payments-server/runtime'
import { RunningTestClock } from '@open-payments-server/testing'
import { composeWeb, loadConfig, type RunningWeb } from '@open-payments-server/web'
import { type Breakable, startBreakable } from './breakable.js'
import { PEOPLE } from './people.js'

/** Both services, the pages, an issuer, and a client's site. */
export interface Setting {
  readonly system: System
  readonly web: RunningWeb
  readonly issuer: string
  /** Origin of the pages of account holders. */
  readonly pages: string
  readonly console: string
  /** A page of the client where consent ends. */
  readonly callback: string
  /** The consent API of the auth server, as the pages reach it. */
  readonly authApi: Breakable
  /** The issuer, as everybody reaches it. */
  readonly issuerFront: Breakable
  /** From now on another key of the issuer signs. The one before is still published. */
  rotateIssuerKeys(): Promise<void>
  /** Lines of the log of the pages. */
  readonly log: readonly string[]
  /** Starts another replica of the pages, at origins of its own: cookies are the same for all ports of a host. */
  startReplica(): Promise<{ readonly pages: string; readonly console: string }>
  stop(): Promise<void>
}

/** Type of the details that the issuer takes (RFC 9396). */
const DETAILS_TYPE = 'payment_initiation'

/**
 * Starts everything.
 *
 * @param settings of the pages, added or changed
 * @param options.tellsOfSignOut whether the issuer tells the pages that somebody signed out; default: it does
 * @param options.consentProof whether consent and resuming must be proved; default: they must
 * @param options.holderClaim claim of the issuer that names the accounts of a person; default: none does
 */
export async function startSetting(
  settings: Readonly<Record<string, string>> = {},
  {
    consentProof = 'required',
    holderClaim,
    tellsOfSignOut = true
  }: {
    readonly consentProof?: 'none' | 'required'
    readonly holderClaim?: string
    readonly tellsOfSignOut?: boolean
  } = {}
): Promise<Setting> {
  const [issuerPort = 0, pagesPort = 0, consolePort = 0, callbackPort = 0] = await findFreePorts(4)
  const issuerFront = await startBreakable(`http://localhost:${String(issuerPort)}`, 'localhost')
  const originOf = (port: number): string => `http://localhost:${String(port)}`
  const [pages, console, callback] = [pagesPort, consolePort, callbackPort].map(originOf) as [
    string,
    string,
    string
  ]
  const secrets = [randomBytes(24).toString('hex'), randomBytes(24).toString('hex')] as const
  const clientOf = (clientId: string, clientSecret: string, origin: string) => ({
    clientId,
    clientSecret,
    redirectUris: [`${origin}/signed-in`],
    postLogoutRedirectUris: [`${origin}/signed-out`],
    ...(tellsOfSignOut ? { backchannelLogoutUri: `${origin}/signed-out-at-issuer` } : {})
  })
  const issuer = await startDevelopmentIssuer({
    port: issuerPort,
    url: issuerFront.url,
    people: PEOPLE,
    authorizationDetailsTypes: [DETAILS_TYPE],
    clients: [clientOf('consent-page', secrets[0], pages), clientOf('console', secrets[1], console)]
  })
  const client = createServer((_request, response) =>
    response.end('<title>back</title><h1>back at the shop</h1>')
  )
  client.listen(callbackPort, 'localhost')
  await once(client, 'listening')
  const operators = JSON.stringify([
    {
      ...{ issuer: issuer.url, clientIds: ['console'] },
      ...{
        rolesClaim: 'roles',
        roles: { viewer: ['viewer'], operator: ['operator'], approver: ['approver'] }
      }
    }
  ])
  const kid = randomUUID()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const system = await startSystem({
    clock: new RunningTestClock(),
    auth: {
      CONSENT_PAGE_URL: `${pages}/consent`,
      CONSENT_PROOF: consentProof,
      // More than what most tests ask for: whether a sign-in is still fresh depends on how fast the machine is.
      CONSENT_SIGN_IN_FROM: '5000.00 USD',
      CONSENT_SIGN_IN_AGE_MAX_SECONDS: '10',
      // The clock of the system is put forward, and that of the issuer is not.
      CONSENT_CLOCK_TOLERANCE_SECONDS: '60',
      CONSENT_ISSUERS: `consent-page@${issuer.url}`,
      OWNERSHIP_PUBLIC_KEYS: JSON.stringify({
        keys: [{ kid, alg: 'EdDSA', ...publicKey.export({ format: 'jwk' }) }]
      }),
      INTERACTION_FINISH_CODE_REQUIRED: 'true',
      CONTINUATION_WAIT_SECONDS: '0',
      OPERATOR_ISSUERS: operators
    },
    resource: {
      OPERATOR_ISSUERS: operators,
      OWNERSHIP_KEYS: JSON.stringify({ keys: [{ kid, ...privateKey.export({ format: 'jwk' }) }] }),
      ...(holderClaim === undefined ? {} : { HOLDER_CLAIM: holderClaim, HOLDER_CLAIM_ISSUER: issuer.url })
    }
  })
  const authApi = await startBreakable(system.identityProviderUrl())
  const log: string[] = []
  const environment = {
    ENVIRONMENT: 'development',
    HTTP_HOST: 'localhost',
    HTTP_PORT: String(pagesPort),
    PUBLIC_URL: pages,
    CONSOLE_HOST: 'localhost',
    CONSOLE_PORT: String(consolePort),
    CONSOLE_URL: console,
    ISSUER: issuer.url,
    CLIENT_ID: 'consent-page',
    CLIENT_SECRET: secrets[0],
    CONSOLE_CLIENT_ID: 'console',
    CONSOLE_CLIENT_SECRET: secrets[1],
    SESSION_KEY: randomBytes(24).toString('hex'),
    AUTH_API_URL: authApi.url,
    IDENTITY_PROVIDER_SECRET: system.identityProviderSecret,
    AUTH_GRPC_TARGET: `127.0.0.1:${String(system.runningAuthServers[0]?.grpcPort)}`,
    RESOURCE_GRPC_TARGET: `127.0.0.1:${String(system.runningResourceServers[0]?.grpcPort)}`,
    PROVIDER_NAME: 'Example Wallet',
    CONSENT_DETAILS_TYPE: DETAILS_TYPE,
    ...(holderClaim === undefined ? {} : { HOLDER_CLAIM: holderClaim }),
    ...settings
  }
  const destination = { write: (line: string) => void log.push(line) }
  const logger = createLogger({ service: 'web', level: 'info', destination })
  const web = await composeWeb(loadConfig(environment), { logger, clock: system.clock })
  const replicas: RunningWeb[] = []
  return {
    ...{ system, web, issuer: issuer.url, pages, console, callback, authApi, issuerFront, log },
    rotateIssuerKeys: () => issuer.rotateKeys(),
    async startReplica() {
      const [ownPort = 0, ownConsolePort = 0] = await findFreePorts(2)
      const ports = { HTTP_PORT: String(ownPort), CONSOLE_PORT: String(ownConsolePort) }
      const config = loadConfig({ ...environment, ...ports })
      replicas.push(await composeWeb(config, { logger, clock: system.clock }))
      return { pages: originOf(ownPort), console: originOf(ownConsolePort) }
    },
    async stop() {
      await Promise.all([web, ...replicas].map((each) => each.stop()))
      await authApi.stop()
      await system.stop()
      await issuerFront.stop()
      await issuer.close()
      client.close()
      client.closeAllConnections()
    }
  }
}
