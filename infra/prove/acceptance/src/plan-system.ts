import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePorts } from '@open-payments-server/local-services'
import { createTestDatabase, type TestDatabase } from '@open-payments-server/testing'
import type { ServiceName } from './service-name.js'
import type { SystemTls } from './system-tls.js'

/** Settings of a service, as its environment. */
export type Settings = Readonly<Record<string, string>>

/** Detours between the parts of a system, through proxies that disturb them. */
export interface Detours {
  /** From the auth server to its database. Takes and answers a connection URL. */
  readonly authDatabase?: (url: string) => Promise<string>
  /** From the resource server to its database. Takes and answers a connection URL. */
  readonly resourceDatabase?: (url: string) => Promise<string>
  /** From the resource server to the auth server's gRPC. Takes and answers a port of 127.0.0.1. */
  readonly authServerGrpc?: (port: number) => Promise<number>
  /**
   * To the first instance of a service, for everyone but the tests' own clients: its public URLs lead there. Takes and answers a port of
   * localhost.
   */
  readonly publicHttp?: (port: number) => Promise<number>
}

/** How a system differs from the default. */
export interface PlanOptions {
  /** Settings of the auth server, added or changed. */
  readonly auth?: Settings
  /** Settings of the resource server, added or changed. */
  readonly resource?: Settings
  /** Number of instances of each service; default 1. Several need Redis (`TEST_REDIS_URL`). */
  readonly instanceCount?: number
  /** PostgreSQL on which the databases are created, as a superuser; default: that of the test run. */
  readonly postgresUrl?: string
  /** The same for the resource server's database alone; {@link postgresUrl} unless given. */
  readonly resourcePostgresUrl?: string
  readonly detours?: Detours
  /** Where clients reach the resource server through something in front of it; default: straight at its own port. */
  readonly frontUrl?: string
  /** Where others reach both services, where something in front of them ends TLS; clients of the tests are behind it, as the services. */
  readonly secureUrls?: Readonly<Record<'auth' | 'resource', string>>
  /** Folder of the checkout whose migrations are applied; default: this one. */
  readonly root?: string
  /** Certificates for gRPC; without them it is plain text. */
  readonly tls?: SystemTls
}

/** Everything that is decided before a system starts: its databases, its ports, and the settings of each instance. */
export interface SystemPlan {
  /** The grant endpoint, as wallet addresses advertise it. */
  readonly authServerUrl: string
  readonly resourceServerUrl: string
  /** Whether something is in front of the resource server that clients are to go through. */
  readonly isBehindFront: boolean
  readonly identityProviderSecret: string
  readonly authDatabase: TestDatabase
  readonly resourceDatabase: TestDatabase
  readonly authServers: readonly AuthServerPlan[]
  readonly resourceServers: readonly ResourceServerPlan[]
  /** What other systems need to be its peers: they reach its first instance. */
  readonly peering: { readonly ilpAddress: string; readonly ilpEndpoint: string }
  readonly tls: SystemTls | undefined
}

/** An instance of the auth server, not yet started. Its ports are of localhost and 127.0.0.1. */
export interface AuthServerPlan {
  readonly httpPort: number
  readonly identityProviderPort: number
  readonly grpcPort: number
  /** Answers 200 once it is ready. */
  readonly readyUrl: string
  readonly settings: Settings
}

/** An instance of the resource server, not yet started. */
export interface ResourceServerPlan {
  readonly httpPort: number
  readonly grpcPort: number
  readonly peerPort: number
  /** Answers 200 once it is ready. */
  readonly readyUrl: string
  readonly settings: Settings
}

const PORTS_PER_INSTANCE = 6
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

/** Creates the databases, finds free ports and determines the settings of every instance. */
export async function planSystem(options: PlanOptions = {}): Promise<SystemPlan> {
  const {
    instanceCount = 1,
    detours = {},
    postgresUrl,
    resourcePostgresUrl = postgresUrl,
    root = ROOT
  } = options
  const [authDatabase, resourceDatabase] = await Promise.all([
    createTestDatabase(schemaOf('auth-server', root), postgresUrl),
    createTestDatabase(schemaOf('resource-server', root), resourcePostgresUrl)
  ])
  const straight = <Place>(place: Place): Promise<Place> => Promise.resolve(place)
  const [authDatabaseUrl, resourceDatabaseUrl] = await Promise.all([
    (detours.authDatabase ?? straight)(authDatabase.url),
    (detours.resourceDatabase ?? straight)(resourceDatabase.url)
  ])
  // Public URLs must be known before the services listen.
  const ports = await findFreePorts(instanceCount * PORTS_PER_INSTANCE)
  const takePort = (): number => {
    const port = ports.pop()
    if (port === undefined) throw new Error('more ports are used than were found')
    return port
  }
  const shared = sharedSettings(instanceCount)
  const identityProviderSecret = randomBytes(24).toString('hex')

  const authPorts = Array.from({ length: instanceCount }, () => ({
    httpPort: takePort(),
    identityProviderPort: takePort(),
    grpcPort: takePort()
  }))
  const publicHttp = detours.publicHttp ?? straight
  const authServerUrl =
    options.secureUrls?.auth ?? `http://localhost:${String(await publicHttp(authPorts[0]?.httpPort ?? 0))}/`
  const authSecrets = {
    IDENTITY_PROVIDER_SECRET: identityProviderSecret,
    WEBHOOK_SECRET_KEY: randomBytes(24).toString('hex')
  }
  const authServers = authPorts.map((instance) => ({
    ...instance,
    readyUrl: `http://127.0.0.1:${String(instance.identityProviderPort)}/readyz`,
    settings: {
      ...shared,
      ...authSecrets,
      PUBLIC_URL: authServerUrl,
      HTTP_HOST: 'localhost',
      HTTP_PORT: String(instance.httpPort),
      CONSENT_PAGE_URL: 'http://localhost:1/consent',
      IDENTITY_PROVIDER_HOST: '127.0.0.1',
      IDENTITY_PROVIDER_PORT: String(instance.identityProviderPort),
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: String(instance.grpcPort),
      DATABASE_URL: authDatabaseUrl,
      ...options.tls?.auth,
      ...options.auth
    }
  }))

  const grpcPorts = await Promise.all(
    authPorts.map(({ grpcPort }) => (detours.authServerGrpc ?? straight)(grpcPort))
  )
  const resourcePorts = Array.from({ length: instanceCount }, () => ({
    httpPort: takePort(),
    grpcPort: takePort(),
    peerPort: takePort()
  }))
  const resourceServerUrl =
    options.frontUrl ??
    options.secureUrls?.resource ??
    `http://localhost:${String(await publicHttp(resourcePorts[0]?.httpPort ?? 0))}`
  const resourceSecrets = {
    SHARED_SECRET_KEY: randomBytes(24).toString('hex'),
    PEER_SECRET_KEY: randomBytes(24).toString('hex'),
    WEBHOOK_SECRET_KEY: randomBytes(24).toString('hex'),
    PROVIDER_KEYS: JSON.stringify({
      keys: [generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })]
    })
  }
  // Of a system's own, so that any two can be peers.
  const ilpAddress = `test.system-${String(resourcePorts[0]?.httpPort)}`
  const resourceServers = resourcePorts.map((instance) => ({
    ...instance,
    readyUrl: `http://localhost:${String(instance.httpPort)}/readyz`,
    settings: {
      ...shared,
      ...resourceSecrets,
      PUBLIC_URL: resourceServerUrl,
      AUTH_SERVER_URL: authServerUrl,
      HTTP_HOST: 'localhost',
      HTTP_PORT: String(instance.httpPort),
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: String(instance.grpcPort),
      ILP_ADDRESS: ilpAddress,
      ILP_HOST: '127.0.0.1',
      ILP_PORT: String(instance.peerPort),
      AUTH_GRPC_TARGET: `ipv4:${grpcPorts.map((port) => `127.0.0.1:${String(port)}`).join(',')}`,
      DATABASE_URL: resourceDatabaseUrl,
      EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1',
      ...options.tls?.resource,
      ...options.resource
    }
  }))
  return {
    authServerUrl,
    resourceServerUrl,
    isBehindFront: options.frontUrl !== undefined,
    identityProviderSecret,
    authDatabase,
    resourceDatabase,
    authServers,
    resourceServers,
    peering: { ilpAddress, ilpEndpoint: `http://127.0.0.1:${String(resourcePorts[0]?.peerPort)}/` },
    tls: options.tls
  }
}

function sharedSettings(instanceCount: number): Settings {
  const settings = { ENVIRONMENT: 'development', REPLICA_COUNT: String(instanceCount) }
  if (instanceCount === 1) return settings
  const redisUrl = process.env.TEST_REDIS_URL
  if (redisUrl === undefined) throw new Error('several instances need Redis: TEST_REDIS_URL is not set')
  return { ...settings, REDIS_URL: redisUrl }
}

function schemaOf(service: ServiceName, root: string): { migrationsPath: string } {
  return { migrationsPath: join(root, 'services', service, 'prisma', 'migrations') }
}
