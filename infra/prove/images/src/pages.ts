import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { CLIENT_NAMES, SERVER_NAMES, type Settings, type SystemPlan } from '@open-payments-server/acceptance'
import {
  type DevelopmentIssuerOptions,
  OPTIONS_VARIABLE
} from '@open-payments-server/development-issuer/options'
import { findFreePorts } from '@open-payments-server/local-services'
import { formOf, PlainBrowser } from '@open-payments-server/testing/browser'
import type { TestTlsFiles } from '@open-payments-server/testing/certificates'

const PASSWORD = randomBytes(12).toString('hex')
const ROLES = ['viewer', 'operator', 'approver']

/** The pages and their issuer, before they start, and what both services must know of them. */
export interface PagesPlan {
  /** Origin of the pages of account holders. */
  readonly holders: string
  /** Origin of the console. */
  readonly console: string
  /** `iss`. */
  readonly issuer: string
  /** Settings of the auth server. */
  readonly auth: Settings
  /** Settings of the resource server. */
  readonly resource: Settings
  /** Environment of the issuer. */
  readonly issuerEnvironment: Settings
  /**
   * Settings of the pages.
   *
   * @param files the certificate that they show to both services
   */
  settings(plan: SystemPlan, files: TestTlsFiles): Settings
}

/** Finds ports and makes secrets. Alice and an operator can sign in. */
export async function planPages(): Promise<PagesPlan> {
  const [issuer, holders, console] = (await findFreePorts(3)).map(
    (port) => `http://localhost:${String(port)}`
  ) as [string, string, string]
  const [clientSecret, consoleSecret, sessionKey] = Array.from({ length: 3 }, () =>
    randomBytes(24).toString('hex')
  ) as [string, string, string]
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const keySet = (key: typeof privateKey) =>
    JSON.stringify({ keys: [{ kid: 'ownership', alg: 'EdDSA', ...key.export({ format: 'jwk' }) }] })
  const operators = {
    GRPC_OPERATOR_CLIENTS: `${CLIENT_NAMES.operator},${CLIENT_NAMES.pages}`,
    OPERATOR_MACHINES: `${CLIENT_NAMES.operator}=operator+approver`,
    OPERATOR_ISSUERS: JSON.stringify([
      {
        issuer,
        clientIds: ['console'],
        rolesClaim: 'roles',
        roles: Object.fromEntries(ROLES.map((role) => [role, [role]]))
      }
    ])
  }
  const clientOf = (clientId: string, secret: string, origin: string) => ({
    clientId,
    clientSecret: secret,
    redirectUris: [`${origin}/signed-in`],
    postLogoutRedirectUris: [`${origin}/signed-out`]
  })
  const options: DevelopmentIssuerOptions = {
    port: Number(new URL(issuer).port),
    people: [
      { username: 'alice', password: PASSWORD, sub: 'alice-of-images', name: 'Alice' },
      { username: 'operator', password: PASSWORD, sub: 'operator-of-images', name: 'Operator', roles: ROLES }
    ],
    clients: [clientOf('consent-page', clientSecret, holders), clientOf('console', consoleSecret, console)]
  }
  return {
    holders,
    console,
    issuer,
    auth: {
      ...operators,
      CONSENT_PAGE_URL: `${holders}/consent`,
      CONSENT_ISSUERS: `consent-page@${issuer}`,
      OWNERSHIP_PUBLIC_KEYS: keySet(publicKey)
    },
    resource: { ...operators, OWNERSHIP_KEYS: keySet(privateKey) },
    issuerEnvironment: { [OPTIONS_VARIABLE]: JSON.stringify(options) },
    settings: (plan, files) => ({
      ENVIRONMENT: 'development',
      PUBLIC_URL: holders,
      HTTP_HOST: 'localhost',
      HTTP_PORT: new URL(holders).port,
      CONSOLE_URL: console,
      CONSOLE_HOST: 'localhost',
      CONSOLE_PORT: new URL(console).port,
      ISSUER: issuer,
      CLIENT_ID: 'consent-page',
      CLIENT_SECRET: clientSecret,
      CONSOLE_CLIENT_ID: 'console',
      CONSOLE_CLIENT_SECRET: consoleSecret,
      SESSION_KEY: sessionKey,
      AUTH_API_URL: `http://127.0.0.1:${String(plan.authServers[0]?.identityProviderPort)}`,
      IDENTITY_PROVIDER_SECRET: plan.identityProviderSecret,
      ...connection('AUTH', plan.authServers[0]?.grpcPort, SERVER_NAMES['auth-server'], files),
      ...connection('RESOURCE', plan.resourceServers[0]?.grpcPort, SERVER_NAMES['resource-server'], files)
    })
  }
}

function connection(
  prefix: string,
  port: number | undefined,
  serverName: string,
  files: TestTlsFiles
): Settings {
  return {
    [`${prefix}_GRPC_TARGET`]: `127.0.0.1:${String(port)}`,
    [`${prefix}_GRPC_TLS_CERTIFICATE_FILE`]: files.certificate,
    [`${prefix}_GRPC_TLS_KEY_FILE`]: files.key,
    [`${prefix}_GRPC_TLS_CA_FILE`]: files.authority,
    [`${prefix}_GRPC_TLS_SERVER_NAME`]: serverName
  }
}

/** Opens a page, and signs in where that leads. Resolves with the page that was asked for. */
export async function signIn(
  { issuer, holders, console }: PagesPlan,
  username: 'alice' | 'operator',
  page: string
): Promise<{ readonly status: number; readonly text: string }> {
  const browser = new PlainBrowser([issuer, holders, console])
  const { action, fields } = formOf(await browser.open(page))
  return browser.open(action, { ...fields, username, password: PASSWORD })
}
