import { fileURLToPath } from 'node:url'
import { createLogger } from '@open-payments-server/runtime'
import {
  type Answer,
  type ClientWallet,
  createSigningClient,
  createTestDatabase,
  createTestKey,
  send,
  type SignedRequestOptions,
  startClientWallet,
  TestClock,
  type TestDatabase,
  type TestKey
} from '@open-payments-server/testing'
import {
  composeAuthServer,
  loadConfig,
  type AuthServerOverrides,
  type RunningAuthServer
} from '../src/index.js'

const prisma = fileURLToPath(new URL('../prisma/', import.meta.url))

/** The server's public URL for clients. Nothing listens there: requests go to its actual port. */
export const PUBLIC_URL = 'http://auth.test/'
export const CONSENT_PAGE_URL = 'http://consent.test/ask'
export const IDENTITY_PROVIDER_SECRET = 'the-secret-of-the-identity-provider'

/** A client with a wallet address and a key. */
export interface TestClient {
  readonly walletAddress: string
  readonly key: TestKey
  /** Sends a request signed with the client's key. */
  request(method: string, url: string, options?: SignedRequestOptions): Promise<Answer>
}

/** The auth server on a database of its own, with a wallet provider beside it. */
export interface TestAuthServer {
  readonly server: RunningAuthServer
  readonly database: TestDatabase
  readonly clock: TestClock
  readonly wallet: ClientWallet
  /** Makes a client that publishes its key at a wallet address. */
  createClient(name: string): TestClient
  /** A client that signs with a key without publishing it. */
  signWith(key: TestKey): Pick<TestClient, 'request'>
  /** The same, for a server with another public URL. */
  signWithAt(key: TestKey, publicUrl: string): Pick<TestClient, 'request'>
  /** Sends an unsigned request to a URL below the public URL. */
  send(method: string, url: string, headers?: Record<string, string>): Promise<Answer>
  /** Sends a request to the identity-provider listener. */
  identityProvider(method: string, path: string, options?: IdentityProviderRequest): Promise<Answer>
  stop(): Promise<void>
}

export interface IdentityProviderRequest {
  /** Undefined sends the right one, null none. */
  readonly secret?: string | null
  readonly body?: unknown
}

/**
 * Starts the auth server as `development`, on free ports.
 *
 * @param settings differences from the tests' settings
 */
export async function startTestAuthServer(
  settings: Record<string, string> | ((wallet: ClientWallet) => Record<string, string>) = {},
  { clock = new TestClock(), ...overrides }: AuthServerOverrides & { readonly clock?: TestClock } = {}
): Promise<TestAuthServer> {
  const database = await createTestDatabase({
    migrationsPath: `${prisma}migrations`
  })
  const wallet = await startClientWallet()
  const config = loadConfig({
    ENVIRONMENT: 'development',
    PUBLIC_URL,
    CONSENT_PAGE_URL,
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: '0',
    IDENTITY_PROVIDER_HOST: '127.0.0.1',
    IDENTITY_PROVIDER_PORT: '0',
    IDENTITY_PROVIDER_SECRET,
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: '0',
    DATABASE_URL: database.url,
    // Off unless a test is about it.
    PURGE_INTERVAL_SECONDS: '0',
    SHUTDOWN_GRACE_SECONDS: '5',
    ...(typeof settings === 'function' ? settings(wallet) : settings)
  })
  const level = process.env.TEST_LOG_LEVEL === 'debug' ? 'debug' : 'silent'
  const logger = createLogger({ service: 'auth-server', level })
  const server = await composeAuthServer(config, { clock, logger, ...overrides })
  const connect = (url: string): string =>
    url.replace(/^http:\/\/auth\.test/, `http://127.0.0.1:${String(server.httpPort)}`)
  const signWith = (key: TestKey): Pick<TestClient, 'request'> =>
    createSigningClient({ ...key, clock, connect })

  return {
    server,
    database,
    clock,
    wallet,
    signWith,
    signWithAt: (key, publicUrl) =>
      createSigningClient({ ...key, clock, connect: (url) => connect(url.replace(publicUrl, PUBLIC_URL)) }),
    createClient(name) {
      const key = createTestKey(`${name}-key`)
      const walletAddress = wallet.setWalletAddress(name, { publicName: `The ${name}`, keys: [key.jwk] })
      return { walletAddress, key, request: signWith(key).request }
    },
    send: (method, url, headers) => send(method, connect(url), headers),
    identityProvider(method, path, { secret, body } = {}) {
      const url = `http://127.0.0.1:${String(server.identityProviderPort)}${path}`
      const headers = {
        ...(secret === null ? {} : { 'x-idp-secret': secret ?? IDENTITY_PROVIDER_SECRET }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' })
      }
      return send(method, url, headers, body === undefined ? undefined : Buffer.from(JSON.stringify(body)))
    },
    async stop() {
      await server.stop()
      await wallet.stop()
      await database.drop()
    }
  }
}
