import { randomBytes } from 'node:crypto'
import { startSystem, type System } from '@open-payments-server/acceptance'
import { startDevelopmentIssuer } from '@open-payments-server/development-issuer'
import { findFreePorts } from '@open-payments-server/local-services'
import { createLogger } from '@open-payments-server/runtime'
import { RunningTestClock } from '@open-payments-server/testing'
import { composeWeb, loadConfig } from '@open-payments-server/web'
import type { Page } from 'playwright-core'

export { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'

/** Who operates, and their roles. */
const OPERATORS = {
  victor: ['viewer'],
  olivia: ['operator'],
  anna: ['approver'],
  nobody: []
} as const

const PASSWORD = 'any'

/** Both services, and their console, where operators sign in at a development issuer. */
export interface ConsoleSetting {
  readonly system: System
  /** Origin of the console. */
  readonly console: string
  /** Origin of the pages of account holders. */
  readonly pages: string
  /** By which the pages tell whether a sign-in is over. The services have another one. */
  readonly clock: RunningTestClock
  stop(): Promise<void>
}

/** Starts everything. */
export async function startConsole(): Promise<ConsoleSetting> {
  const [pagesPort = 0, consolePort = 0] = await findFreePorts(2)
  const [pages, console] = [pagesPort, consolePort].map((port) => `http://localhost:${String(port)}`) as [
    string,
    string
  ]
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
      }
    ]
  })
  const operators = JSON.stringify([
    {
      issuer: issuer.url,
      clientIds: ['console'],
      rolesClaim: 'roles',
      roles: { viewer: ['viewer'], operator: ['operator'], approver: ['approver'] }
    }
  ])
  const system = await startSystem({
    clock: new RunningTestClock(),
    auth: { OPERATOR_ISSUERS: operators },
    resource: { OPERATOR_ISSUERS: operators }
  })
  const clock = new RunningTestClock()
  clock.set(system.clock.now())
  const config = loadConfig({
    ...{
      ENVIRONMENT: 'development',
      HTTP_HOST: 'localhost',
      HTTP_PORT: String(pagesPort),
      PUBLIC_URL: pages
    },
    ...{ CONSOLE_HOST: 'localhost', CONSOLE_PORT: String(consolePort), CONSOLE_URL: console },
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
  })
  const web = await composeWeb(config, { clock, logger: createLogger({ service: 'web', level: 'silent' }) })
  return {
    ...{ system, console, pages, clock },
    async stop() {
      await web.stop()
      await system.stop()
      await issuer.close()
    }
  }
}

/** Signs in at the issuer, on whose page a browser is. */
export async function signInAs(page: Page, name: keyof typeof OPERATORS): Promise<void> {
  await page.fill('input[name=username]', name)
  await page.fill('input[name=password]', PASSWORD)
  // Beside the field: other buttons sign in as somebody else.
  await page.press('input[name=password]', 'Enter')
  await page.waitForLoadState()
}
