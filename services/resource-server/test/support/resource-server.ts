import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { GrpcService } from '@open-payments-server/grpc-transport'
import { createLogger } from '@open-payments-server/runtime'
import {
  type Answer,
  createSigningClient,
  createTestDatabase,
  createTestKey,
  send,
  type SignedRequestOptions,
  TestClock,
  type TestDatabase,
  type TestKey
} from '@open-payments-server/testing'
import { hashSecret, uuidV8 } from '@open-payments-server/value-types/identifiers'
import {
  composeResourceServer,
  loadConfig,
  type ResourceServerOverrides,
  type RunningResourceServer
} from '../../src/index.js'
import { type FakeAuthServer, startFakeAuthServer, type TestAccess } from './fake-auth-server.js'

const prisma = fileURLToPath(new URL('../../prisma/', import.meta.url))

/** The server's public URL for clients. Nothing listens there: requests go to its actual port. */
export const PUBLIC_URL = 'http://wallet.test'
export const AUTH_SERVER_URL = 'http://auth.test/'

/** A client that holds tokens of its own. */
export interface TestClient {
  /** Who it is: URL of its wallet address. */
  readonly client: string
  readonly key: TestKey
  /** Sends a signed request with a token of its one grant for the given access, or with the token given in the options. */
  request(
    access: readonly TestAccess[],
    method: string,
    path: string,
    options?: SignedRequestOptions
  ): Promise<Answer>
}

/** The resource server on a database of its own, with a fake auth server beside it. */
export interface TestResourceServer {
  readonly server: RunningResourceServer
  readonly database: TestDatabase
  readonly clock: TestClock
  readonly auth: FakeAuthServer
  /** Makes a client with a fresh key. */
  createClient(name: string): TestClient
  /** Sends a request that is neither signed nor carries a token. */
  send(method: string, path: string, headers?: Record<string, string>): Promise<Answer>
  stop(): Promise<void>
}

/** Options of a test. */
export interface TestResourceServerOptions {
  /** Settings beyond those that every test needs. */
  readonly settings?: Record<string, string>
  readonly overrides?: ResourceServerOverrides
  /** Where the clock begins, in milliseconds since the Unix epoch; the present unless given. */
  readonly startMs?: number
  /** Further services of the fake auth server. */
  readonly authServices?: readonly GrpcService[]
  /** A way to the database, from its URL: that URL unless given. */
  readonly detour?: (databaseUrl: string) => Promise<string>
}

/** Wallet addresses that exist in every test. */
export const ALICE = `${PUBLIC_URL}/alice`
export const BOB = `${PUBLIC_URL}/bob`
/** In euros. */
export const CAROL = `${PUBLIC_URL}/carol`

/** Starts the resource server as `development`, on free ports, with three wallet addresses. */
export async function startTestResourceServer(
  options: TestResourceServerOptions = {}
): Promise<TestResourceServer> {
  const level = process.env.TEST_LOG_LEVEL === 'debug' ? 'debug' : 'silent'
  const logger = createLogger({ service: 'resource-server', level })
  const database = await createTestDatabase({
    migrationsPath: `${prisma}migrations`
  })
  await seed(database)
  const fake = await startFakeAuthServer({ logger, services: options.authServices ?? [] })
  const clock = new TestClock(options.startMs)
  const config = loadConfig({
    ENVIRONMENT: 'development',
    PUBLIC_URL,
    AUTH_SERVER_URL,
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: '0',
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: '0',
    AUTH_GRPC_TARGET: `127.0.0.1:${String(fake.port)}`,
    DATABASE_URL: (await options.detour?.(database.url)) ?? database.url,
    SHARED_SECRET_KEY: 'the-master-key-of-shared-secrets',
    SHUTDOWN_GRACE_SECONDS: '5',
    ...options.settings
  })
  const server = await composeResourceServer(config, { clock, logger, ...options.overrides })
  await fake.whenStreaming()
  const connect = (url: string): string =>
    url.replace(/^http:\/\/wallet\.test/, `http://127.0.0.1:${String(server.httpPort)}`)

  return {
    server,
    database,
    clock,
    auth: fake,
    createClient(name) {
      const key = createTestKey(`${name}-key`)
      const client = `https://${name}.example/wallet`
      const grantId = uuidV8(hashSecret(client))
      // By the clock of the server: it refuses what was signed long ago.
      const signing = createSigningClient({ ...key, clock: options.overrides?.clock ?? clock, connect })
      return {
        client,
        key,
        request: (access, method, path, requestOptions) =>
          signing.request(method, `${PUBLIC_URL}${path}`, {
            accessToken: fake.issueToken({ client, keys: [key], access, grantId }).accessToken,
            ...requestOptions
          })
      }
    },
    send: (method, path, headers) => send(method, connect(`${PUBLIC_URL}${path}`), headers),
    async stop() {
      await server.stop()
      await fake.stop()
      await database.drop()
    }
  }
}

/** Two wallet addresses in dollars and one in euros, each with a well-filled account. */
async function seed(database: TestDatabase): Promise<void> {
  await database.query(`insert into asset (code, scale) values ('USD', 2), ('EUR', 2)`)
  for (const [name, assetId] of [
    ['alice', 1],
    ['bob', 1],
    ['carol', 2]
  ] as const) {
    const accountId = randomUUID()
    await database.query(
      `insert into account (id, kind, name, asset_id, asset_code, asset_scale, credits_posted)
       select $1, 'wallet', $2, id, code, scale, 1000000 from asset where id = $3`,
      [accountId, name, assetId]
    )
    await database.query(
      `insert into wallet_address (id, path, public_name, account_id) values ($1, $2, $3, $4)`,
      [randomUUID(), `/${name}`, name.charAt(0).toUpperCase() + name.slice(1), accountId]
    )
  }
}
