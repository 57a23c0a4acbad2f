import { join } from 'node:path'
import { authServerSchema } from '@open-payments-server/auth-server/config'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { webSchema } from '@open-payments-server/web/config'
import type { Databases } from './databases.js'
import { CONSOLE_CLIENT, HOLDER_CLIENT, operatorIssuers } from './issuer.js'
import type { StackSecrets } from './secrets.js'
import type { ServiceOptions } from './service-process.js'
import { type Environment, ROOT, type StackPaths, type StackSettings } from './settings.js'

const LOOPBACK = '127.0.0.1'
const RATES_DEFAULT = 'USD/EUR=0.92,EUR/USD=1.08'
const GRACE_SECONDS = '5'
/** Parameters of every process. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'TMP', 'TEMP', 'SystemRoot', 'TZ', 'NODE_EXTRA_CA_CERTS']

/** Parameters of the services. */
export interface ServiceSurroundings {
  readonly settings: StackSettings
  readonly paths: StackPaths
  readonly secrets: StackSecrets
  readonly databases: Databases
  /** Environment of the stack. Settings that a service knows are passed on, unless the stack sets them. */
  readonly environment: Environment
}

/** How the auth server is run. */
export function authServer({
  settings,
  paths,
  secrets,
  databases,
  environment
}: ServiceSurroundings): ServiceOptions {
  const { ports } = settings
  return {
    name: 'auth-server',
    script: join(ROOT, 'services', 'auth-server', 'dist', 'main.js'),
    logFile: join(paths.logs, 'auth-server.log'),
    environment: {
      ...passedOn(environment, Object.keys(authServerSchema.shape)),
      ENVIRONMENT: 'development',
      PUBLIC_URL: settings.authServerUrl,
      HTTP_HOST: LOOPBACK,
      HTTP_PORT: String(ports.authHttp),
      CONSENT_PAGE_URL: `${settings.holderPagesUrl}/consent`,
      IDENTITY_PROVIDER_HOST: LOOPBACK,
      IDENTITY_PROVIDER_PORT: String(ports.identityProvider),
      IDENTITY_PROVIDER_SECRET: secrets.identityProviderSecret,
      CONSENT_ISSUERS: `${HOLDER_CLIENT}@${settings.issuerUrl}`,
      OWNERSHIP_PUBLIC_KEYS: publicKeysOf(secrets.ownershipKeys),
      GRPC_HOST: LOOPBACK,
      GRPC_PORT: String(ports.authGrpc),
      GRPC_REFLECTION: 'true',
      METRICS_HOST: LOOPBACK,
      METRICS_PORT: String(ports.authMetrics),
      DATABASE_URL: databases.authUrl,
      WEBHOOK_SECRET_KEY: secrets.authWebhookSecretKey,
      OPERATOR_ISSUERS: operatorIssuers(settings),
      SHUTDOWN_GRACE_SECONDS: GRACE_SECONDS
    }
  }
}

/** How the resource server is run. */
export function resourceServer({
  settings,
  paths,
  secrets,
  databases,
  environment
}: ServiceSurroundings): ServiceOptions {
  const { ports } = settings
  return {
    name: 'resource-server',
    script: join(ROOT, 'services', 'resource-server', 'dist', 'main.js'),
    logFile: join(paths.logs, 'resource-server.log'),
    environment: {
      EXCHANGE_RATES: RATES_DEFAULT,
      ...passedOn(environment, Object.keys(resourceServerSchema.shape)),
      ENVIRONMENT: 'development',
      PUBLIC_URL: settings.resourceServerUrl,
      AUTH_SERVER_URL: settings.authServerUrl,
      HTTP_HOST: LOOPBACK,
      HTTP_PORT: String(ports.resourceHttp),
      GRPC_HOST: LOOPBACK,
      GRPC_PORT: String(ports.resourceGrpc),
      GRPC_REFLECTION: 'true',
      METRICS_HOST: LOOPBACK,
      METRICS_PORT: String(ports.resourceMetrics),
      AUTH_GRPC_TARGET: settings.authGrpcTarget,
      DATABASE_URL: databases.resourceUrl,
      SHARED_SECRET_KEY: secrets.sharedSecretKey,
      ILP_ADDRESS: settings.peering.ilpAddress,
      ILP_HOST: LOOPBACK,
      ILP_PORT: String(ports.peers),
      PEER_SECRET_KEY: secrets.peerSecretKey,
      PROVIDER_KEYS: secrets.providerKeys,
      OWNERSHIP_KEYS: secrets.ownershipKeys,
      WEBHOOK_SECRET_KEY: secrets.resourceWebhookSecretKey,
      OPERATOR_ISSUERS: operatorIssuers(settings),
      SHUTDOWN_GRACE_SECONDS: GRACE_SECONDS
    }
  }
}

/** How the pages for people are run. */
export function web({
  settings,
  paths,
  secrets,
  environment
}: Omit<ServiceSurroundings, 'databases'>): ServiceOptions {
  const { ports } = settings
  return {
    name: 'web',
    script: join(ROOT, 'services', 'web', 'dist', 'main.js'),
    logFile: join(paths.logs, 'web.log'),
    environment: {
      ...passedOn(environment, Object.keys(webSchema.shape)),
      ENVIRONMENT: 'development',
      PUBLIC_URL: settings.holderPagesUrl,
      HTTP_HOST: LOOPBACK,
      HTTP_PORT: String(ports.webHolder),
      CONSOLE_URL: settings.consoleUrl,
      CONSOLE_HOST: LOOPBACK,
      CONSOLE_PORT: String(ports.webConsole),
      ISSUER: settings.issuerUrl,
      CLIENT_ID: HOLDER_CLIENT,
      CLIENT_SECRET: secrets.webHolderSecret,
      CONSOLE_CLIENT_ID: CONSOLE_CLIENT,
      CONSOLE_CLIENT_SECRET: secrets.webConsoleSecret,
      SESSION_KEY: secrets.webSessionKey,
      AUTH_API_URL: settings.identityProviderUrl,
      IDENTITY_PROVIDER_SECRET: secrets.identityProviderSecret,
      RESOURCE_GRPC_TARGET: settings.resourceGrpcTarget,
      AUTH_GRPC_TARGET: settings.authGrpcTarget,
      METRICS_HOST: LOOPBACK,
      METRICS_PORT: String(ports.webMetrics),
      SHUTDOWN_GRACE_SECONDS: GRACE_SECONDS
    }
  }
}

/** @param keys a JWK Set of private keys */
function publicKeysOf(keys: string): string {
  const { keys: all } = JSON.parse(keys) as { readonly keys: readonly Readonly<Record<string, string>>[] }
  return JSON.stringify({ keys: all.map(({ d: _private, ...shown }) => shown) })
}

function passedOn(environment: Environment, settings: readonly string[]): Record<string, string> {
  const names = [...PASSED_ON, ...settings]
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [[name, value]]
    })
  )
}
