import { randomBytes } from 'node:crypto'
import { type Settings, startSystem, type System } from '@open-payments-server/acceptance'
import { startDevelopmentIssuer } from '@open-payments-server/development-issuer'
import { findFreePorts } from '@open-payments-server/local-services'
import { createLogger } from '@open-payments-server/runtime'
import { RunningTestClock } from '@open-payments-server/testing'
import { composeWeb, loadConfig } from '@open-payments-server/web'
import type { Page } from 'playwright-core'
import { leave } from './people.js'

export { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'

/** Who operates, and their roles. */
const OPERATORS = {
  victor: ['viewer'],
  olivia: ['operator'],
  anna: ['approver'],
  arno: ['approver'],
  nobody: []
} as const

const PASSWORD = 'any'
/** Client id of the command line. */
const COMMAND_LINE_CLIENT = 'operator-cli'

/** Both services, and their console, where operators sign in at a development issuer. */
export interface ConsoleSetting {
  readonly system: System
  /** Origin of the console. */
  readonly console: string
  /** Origin of the pages of account holders. */
  readonly pages: string
  /** By which the pages tell whether a sign-in is over. The services have another one. */
  readonly clock: RunningTestClock
  /** Lines of the log of the pages. */
  readonly log: readonly string[]
  /** Where operators sign in, as the command line takes it. */
  readonly commandLine: { readonly issuer: string; readonly clientId: string }
  /**
   * Starts another replica of the pages, which knows who signs in at the others from now on.
   *
   * @param settings of it, added or changed
   * @returns the origin of its console
   */
  startReplica(settings: Settings): Promise<string>
  stop(): Promise<void>
}

/**
 * Starts everything.
 *
 * @param resource further settings of the resource server
 */
export async function startConsole(resource: Settings = {}): Promise<ConsoleSetting> {
  const [placement, { pages, console }] = await placePages()
  const secret = randomBytes(24).toString('hex')
  const issuer = await startDevelopmentIssuer({
    people: Object.entries(OPERATORS).map(([username, roles]) => ({
      ...{ username, password: PASSWORD, sub: username, name: `${username} <b>Example</b>` },
      roles: [...roles]
    })),
    clients: [
      {
        clientId: 'console',
        clientSecret: secret,
        redirectUris: [`${console}/signed-in`],
        postLogoutRedirectUris: [`${console}/signed-out`]
      },
      { clientId: COMMAND_LINE_CLIENT, redirectUris: ['http://127.0.0.1/signed-in'] }
    ]
  })
  const operators = JSON.stringify([
    {
      issuer: issuer.url,
      clientIds: ['console', COMMAND_LINE_CLIENT],
      rolesClaim: 'roles',
      roles: { viewer: ['viewer'], operator: ['operator'], approver: ['approver'] }
    }
  ])
  const system = await startSystem({
    clock: new RunningTestClock(),
    auth: { OPERATOR_ISSUERS: operators },
    resource: { OPERATOR_ISSUERS: operators, ...resource }
  })
  const clock = new RunningTestClock()
  clock.set(system.clock.now())
  const settings: Settings = {
    ENVIRONMENT: 'development',
    ...{ ISSUER: issuer.url, CLIENT_ID: 'console', CLIENT_SECRET: secret },
    ...{ CONSOLE_CLIENT_ID: 'console', CONSOLE_CLIENT_SECRET: secret },
    SESSION_KEY: randomBytes(24).toString('hex'),
    AUTH_API_URL: system.identityProviderUrl(),
    IDENTITY_PROVIDER_SECRET: system.identityProviderSecret,
    AUTH_GRPC_TARGET: `127.0.0.1:${String(system.runningAuthServers[0]?.grpcPort)}`,
    RESOURCE_GRPC_TARGET: `127.0.0.1:${String(system.runningResourceServers[0]?.grpcPort)}`,
    // Machines that run tests may be busy.
    AUTH_GRPC_DEADLINE_MS: '20000',
    RESOURCE_GRPC_DEADLINE_MS: '20000',
    PROVIDER_NAME: 'Example Wallet'
  }
  const log: string[] = []
  const destination = { write: (line: string) => void log.push(line) }
  const logger = createLogger({ service: 'web', level: 'warn', destination })
  const replicas = [await composeWeb(loadConfig({ ...settings, ...placement }), { clock, logger })]
  return {
    ...{ system, console, pages, clock, log },
    commandLine: { issuer: issuer.url, clientId: COMMAND_LINE_CLIENT },
    async startReplica(changed) {
      const [place, origins] = await placePages()
      const config = loadConfig({ ...settings, ...place, ...changed })
      replicas.push(await composeWeb(config, { clock, logger }))
      return origins.console
    },
    async stop() {
      await Promise.all(replicas.map((replica) => replica.stop()))
      await system.stop()
      await issuer.close()
    }
  }
}

/** Where pages listen, as settings and as origins. */
async function placePages(): Promise<[Settings, { readonly pages: string; readonly console: string }]> {
  const [pagesPort = 0, consolePort = 0] = await findFreePorts(2)
  const originOf = (port: number): string => `http://localhost:${String(port)}`
  const [pages, console] = [originOf(pagesPort), originOf(consolePort)]
  const place = {
    ...{ HTTP_HOST: 'localhost', HTTP_PORT: String(pagesPort), PUBLIC_URL: pages },
    ...{ CONSOLE_HOST: 'localhost', CONSOLE_PORT: String(consolePort), CONSOLE_URL: console }
  }
  return [place, { pages, console }]
}

/** What somebody writes into the form of the issuer. */
export function credentialsOf(name: keyof typeof OPERATORS): { username: string; password: string } {
  return { username: name, password: PASSWORD }
}

/** Signs in at the issuer, on whose page a browser is. */
export async function signInAs(page: Page, name: keyof typeof OPERATORS): Promise<void> {
  await page.fill('input[name=username]', name)
  await page.fill('input[name=password]', PASSWORD)
  // Beside the field: other buttons sign in as somebody else.
  await leave(page, () => page.press('input[name=password]', 'Enter'))
}
