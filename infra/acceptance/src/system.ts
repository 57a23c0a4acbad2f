import { randomBytes, randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import {
  type AuthServerConfig,
  composeAuthServer,
  loadConfig as loadAuthServerConfig,
  type RunningAuthServer
} from '@open-payments-server/auth-server'
import { callUnary, createClient } from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import {
  composeResourceServer,
  loadConfig as loadResourceServerConfig,
  type ResourceServerConfig,
  type RunningResourceServer
} from '@open-payments-server/resource-server'
import { createLogger } from '@open-payments-server/runtime'
import {
  createSigningClient,
  createTestDatabase,
  createTestKey,
  type SigningClient,
  TestClock,
  type TestDatabase,
  type TestKey
} from '@open-payments-server/testing'

/** Names of the account holders and clients that every system starts with. */
export type WalletName = 'alice' | 'bob' | 'carol' | 'shop' | 'market'

/** A client of the system: a wallet address with a key, and requests signed with it. */
export interface TestClient extends SigningClient {
  readonly walletAddress: string
  readonly key: TestKey
}

/** Both services, running in this process over real HTTP, gRPC and PostgreSQL. */
export interface System {
  readonly clock: TestClock
  /** The grant endpoint, as wallet addresses advertise it. */
  readonly authServerUrl: string
  readonly resourceServerUrl: string
  readonly identityProviderUrl: string
  readonly identityProviderSecret: string
  readonly walletAddresses: Readonly<Record<WalletName, string>>
  readonly shop: TestClient
  readonly market: TestClient
  readonly authServer: RunningAuthServer
  readonly resourceServer: RunningResourceServer
  readonly authDatabase: TestDatabase
  readonly resourceDatabase: TestDatabase
  readonly operator: wallet.WalletOperatorServiceClient
  readonly grantOperator: auth.GrantOperatorServiceClient
  readonly limits: auth.GrantLimitsServiceClient
  readonly introspection: auth.IntrospectionServiceClient
  /** What an account holds, payments in flight included. */
  balance(name: WalletName): Promise<bigint>
  /** Runs the audit of both services; resolves to its violations. */
  audit(): Promise<string[]>
  stop(): Promise<void>
}

/** How a system differs from the others. */
export interface SystemOptions {
  /** More settings of the auth server, or other values. */
  readonly auth?: Readonly<Record<string, string>>
  /** More settings of the resource server, or other values. */
  readonly resource?: Readonly<Record<string, string>>
}

const DEADLINE_MS = 10_000
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024
/** What alice and carol start with, in the smallest units of their assets. */
export const OPENING_BALANCE = 100_000_000n

function schemaOf(service: 'auth-server' | 'resource-server'): {
  schemaPath: string
  migrationsPath: string
} {
  const folder = new URL(`../../../services/${service}/prisma/`, import.meta.url)
  return {
    schemaPath: fileURLToPath(new URL('schema.prisma', folder)),
    migrationsPath: fileURLToPath(new URL('migrations', folder))
  }
}

/** Starts both services on free ports, with alice, bob (USD), carol (EUR), and the clients shop and market. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const clock = new TestClock(Date.now())
  const logger = createLogger({ service: 'acceptance', level: 'silent' })
  const [authDatabase, resourceDatabase] = await Promise.all([
    createTestDatabase(schemaOf('auth-server')),
    createTestDatabase(schemaOf('resource-server'))
  ])
  const [authPort, resourcePort] = await freePorts(2)
  const authServerUrl = `http://localhost:${String(authPort)}/`
  const resourceServerUrl = `http://localhost:${String(resourcePort)}`
  const identityProviderSecret = randomBytes(24).toString('hex')

  const authServer = await composeAuthServer(
    authConfig({
      authServerUrl,
      authPort,
      identityProviderSecret,
      database: authDatabase,
      more: options.auth
    }),
    { clock, logger }
  )
  const resourceServer = await composeResourceServer(
    resourceConfig({
      authServerUrl,
      resourceServerUrl,
      resourcePort,
      authGrpcPort: authServer.grpcPort,
      database: resourceDatabase,
      more: options.resource
    }),
    { clock, logger }
  )

  const channel = { deadlineMs: DEADLINE_MS, retriesMax: 3, messageBytesMax: MESSAGE_BYTES_MAX }
  const authTarget = { ...channel, target: `127.0.0.1:${String(authServer.grpcPort)}` }
  const operator = createClient(wallet.WalletOperatorServiceClient, {
    ...channel,
    target: `127.0.0.1:${String(resourceServer.grpcPort)}`
  })
  const grantOperator = createClient(auth.GrantOperatorServiceClient, authTarget)
  const limits = createClient(auth.GrantLimitsServiceClient, authTarget)
  const introspection = createClient(auth.IntrospectionServiceClient, authTarget)
  const clients = [operator, grantOperator, limits, introspection]

  const { walletAddresses, shop, market } = await seed(operator, clock)
  return {
    clock,
    authServerUrl,
    resourceServerUrl,
    identityProviderUrl: `http://127.0.0.1:${String(authServer.identityProviderPort)}`,
    identityProviderSecret,
    walletAddresses,
    shop,
    market,
    authServer,
    resourceServer,
    authDatabase,
    resourceDatabase,
    operator,
    grantOperator,
    limits,
    introspection,
    async balance(name) {
      const { accounts } = await callUnary(
        operator,
        'listAccounts',
        wallet.ListAccountsRequest.fromPartial({ name }),
        {
          idempotent: true
        }
      )
      return BigInt(accounts[0]?.balanceValue ?? -1)
    },
    async audit() {
      const { checks } = await callUnary(operator, 'audit', wallet.AuditRequest.fromPartial({}), {
        idempotent: true
      })
      return checks.flatMap((check) =>
        check.violations.map((violation) => `${check.invariant}: ${violation}`)
      )
    },
    async stop() {
      for (const client of clients) client.close()
      await resourceServer.stop()
      await authServer.stop()
      await Promise.all([authDatabase.drop(), resourceDatabase.drop()])
    }
  }
}

function authConfig(settings: {
  authServerUrl: string
  authPort: number
  identityProviderSecret: string
  database: TestDatabase
  more: SystemOptions['auth']
}): AuthServerConfig {
  return loadAuthServerConfig({
    ENVIRONMENT: 'development',
    PUBLIC_URL: settings.authServerUrl,
    HTTP_HOST: 'localhost',
    HTTP_PORT: String(settings.authPort),
    CONSENT_PAGE_URL: 'http://localhost:1/consent',
    IDENTITY_PROVIDER_HOST: '127.0.0.1',
    IDENTITY_PROVIDER_PORT: '0',
    IDENTITY_PROVIDER_SECRET: settings.identityProviderSecret,
    INTERACTION_COOKIE_SECRET: randomBytes(24).toString('hex'),
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: '0',
    DATABASE_URL: settings.database.url,
    ...settings.more
  })
}

function resourceConfig(settings: {
  authServerUrl: string
  resourceServerUrl: string
  resourcePort: number
  authGrpcPort: number
  database: TestDatabase
  more: SystemOptions['resource']
}): ResourceServerConfig {
  return loadResourceServerConfig({
    ENVIRONMENT: 'development',
    PUBLIC_URL: settings.resourceServerUrl,
    AUTH_SERVER_URL: settings.authServerUrl,
    HTTP_HOST: 'localhost',
    HTTP_PORT: String(settings.resourcePort),
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: '0',
    AUTH_GRPC_TARGET: `127.0.0.1:${String(settings.authGrpcPort)}`,
    DATABASE_URL: settings.database.url,
    SHARED_SECRET_KEY: randomBytes(24).toString('hex'),
    EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1',
    ...settings.more
  })
}

async function seed(
  operator: wallet.WalletOperatorServiceClient,
  clock: TestClock
): Promise<Pick<System, 'walletAddresses' | 'shop' | 'market'>> {
  const usd = { code: 'USD', scale: 2 }
  const eur = { code: 'EUR', scale: 2 }
  const call = { idempotent: false }
  for (const asset of [usd, eur]) await callUnary(operator, 'createAsset', { asset }, call)
  const urls = new Map<WalletName, string>()
  const holders = { alice: usd, bob: usd, carol: eur, shop: usd, market: usd }
  for (const [name, asset] of Object.entries(holders) as [WalletName, typeof usd][]) {
    await callUnary(operator, 'createAccount', { name, asset }, call)
    const { walletAddress } = await callUnary(
      operator,
      'createWalletAddress',
      { path: `/${name}`, publicName: name, accountName: name },
      call
    )
    urls.set(name, walletAddress?.url ?? '')
  }
  for (const accountName of ['alice', 'carol']) {
    await callUnary(
      operator,
      'deposit',
      { depositId: randomUUID(), accountName, value: String(OPENING_BALANCE) },
      call
    )
  }
  const client = async (name: 'shop' | 'market'): Promise<TestClient> => {
    const key = createTestKey(`${name}-key`)
    const walletAddress = urls.get(name) ?? ''
    await callUnary(operator, 'addClientKey', { walletAddress, kid: key.jwk.kid, x: key.jwk.x }, call)
    const signing = createSigningClient({ keyId: key.jwk.kid, privateKey: key.privateKey, clock })
    return { ...signing, walletAddress, key }
  }
  const [shop, market] = [await client('shop'), await client('market')]
  return { walletAddresses: Object.fromEntries(urls) as Record<WalletName, string>, shop, market }
}

/** Ports that were free a moment ago: public URLs must be known before the services listen. */
async function freePorts(count: number): Promise<[number, number]> {
  const servers = Array.from({ length: count }, () => createServer())
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, 'localhost', resolve)))
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  const [first = 0, second = 0] = ports
  return [first, second]
}
