import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Default of STACK_PORT_BASE. */
const PORT_BASE_DEFAULT = 4000
/** So that there is room for two providers. */
const PORT_BASE_MAX = 65_000
/** Default of ILP_ADDRESS. */
const ILP_ADDRESS_DEFAULT = 'test.wallet'

/** The ports of the stack, by listener. */
export interface StackPorts {
  readonly authHttp: number
  readonly resourceHttp: number
  readonly webMetrics: number
  readonly identityProvider: number
  readonly authGrpc: number
  readonly resourceGrpc: number
  readonly postgres: number
  readonly authMetrics: number
  readonly resourceMetrics: number
  readonly peers: number
  readonly issuer: number
  readonly webHolder: number
  readonly webConsole: number
}

/** What answers on each port, for people. */
export const PORT_PURPOSES: Readonly<Record<keyof StackPorts, string>> = {
  authHttp: 'the auth server',
  resourceHttp: 'the resource server',
  webMetrics: 'metrics of the pages',
  identityProvider: 'the identity-provider API',
  authGrpc: "the auth server's gRPC",
  resourceGrpc: "the resource server's gRPC",
  postgres: 'PostgreSQL',
  authMetrics: "the auth server's metrics",
  resourceMetrics: "the resource server's metrics",
  peers: 'packets of other providers',
  issuer: 'the issuer, where people sign in',
  webHolder: 'pages of account holders',
  webConsole: 'the console of operators'
}

/** Ports from 1024 on that browsers and Node's `fetch` refuse to connect to (WHATWG Fetch, "bad port"). */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10080
])

/** Names of the databases of both services. */
export interface DatabaseNames {
  readonly auth: string
  readonly wallet: string
}

/** Existing databases instead of the embedded PostgreSQL. */
export type GivenDatabases =
  | { readonly kind: 'embedded' }
  /** A server on which both databases are created. */
  | { readonly kind: 'server'; readonly url: string; readonly names: DatabaseNames }
  /** One URL for each service. */
  | { readonly kind: 'databases'; readonly auth: string; readonly resource: string }

/** Settings of the stack. */
export interface StackSettings {
  readonly ports: StackPorts
  readonly databases: GivenDatabases
  /** The auth server's grant endpoint, exactly as wallet addresses advertise it. */
  readonly authServerUrl: string
  readonly resourceServerUrl: string
  /** Origin of the pages of account holders. */
  readonly holderPagesUrl: string
  /** Origin of the console of operators. */
  readonly consoleUrl: string
  readonly identityProviderUrl: string
  /** The OpenID issuer where people sign in: `iss` of its ID tokens. */
  readonly issuerUrl: string
  readonly authGrpcTarget: string
  readonly resourceGrpcTarget: string
  /** Where other providers post packets, and the ILP address that they are for. */
  readonly peering: { readonly ilpEndpoint: string; readonly ilpAddress: string }
}

/** Files of the stack. */
export interface StackPaths {
  /** The folder that contains all of it. */
  readonly directory: string
  readonly postgres: string
  readonly logs: string
  readonly keys: string
  /** Where the issuer keeps its own keys. */
  readonly issuerKeys: string
  readonly secretsFile: string
  /** Addresses of the running stack, for other programs; exists only while it runs. */
  readonly stackFile: string
  /** Process id of the running stack. */
  readonly processFile: string
}

/** Settings as they come from the process: `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The repository's root. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

/** Folder of the stack's data: `.local` in the repository, or STACK_DIRECTORY. */
export function stackPaths(environment: Environment): StackPaths {
  const directory = resolve(environment.STACK_DIRECTORY ?? join(ROOT, '.local'))
  return {
    directory,
    postgres: join(directory, 'postgres'),
    logs: join(directory, 'logs'),
    keys: join(directory, 'keys'),
    issuerKeys: join(directory, 'issuer'),
    secretsFile: join(directory, 'secrets.json'),
    stackFile: join(directory, 'stack.json'),
    processFile: join(directory, 'stack.pid')
  }
}

/** The stack cannot be started. The message says what to change. */
export class StackError extends Error {
  override readonly name = 'StackError'
}

/**
 * Reads the settings of the quick start: STACK_PORT_BASE; AUTH_DATABASE_URL and RESOURCE_DATABASE_URL, or DATABASE_URL.
 *
 * @throws StackError saying what is wrong
 */
export function readSettings(environment: Environment): StackSettings {
  const base = readPortBase(environment.STACK_PORT_BASE)
  const ports = {
    authHttp: base,
    resourceHttp: base + 1,
    webMetrics: base + 2,
    identityProvider: base + 3,
    authGrpc: base + 4,
    resourceGrpc: base + 5,
    postgres: base + 6,
    authMetrics: base + 7,
    resourceMetrics: base + 8,
    peers: base + 9,
    issuer: base + 10,
    webHolder: base + 11,
    webConsole: base + 12
  }
  assertNoneRefused(ports)
  const at = (port: number): string => `localhost:${String(port)}`
  return {
    ports,
    databases: readDatabases(environment),
    authServerUrl: `http://${at(ports.authHttp)}/`,
    resourceServerUrl: `http://${at(ports.resourceHttp)}`,
    holderPagesUrl: `http://${at(ports.webHolder)}`,
    consoleUrl: `http://${at(ports.webConsole)}`,
    identityProviderUrl: `http://${at(ports.identityProvider)}`,
    issuerUrl: `http://${at(ports.issuer)}`,
    authGrpcTarget: at(ports.authGrpc),
    resourceGrpcTarget: at(ports.resourceGrpc),
    peering: {
      ilpEndpoint: `http://${at(ports.peers)}/`,
      ilpAddress: environment.ILP_ADDRESS ?? ILP_ADDRESS_DEFAULT
    }
  }
}

/** How far the ports of the second provider are from those of the first. */
const SECOND_PORTS_AFTER = 50

/**
 * The environment of the second provider: other ports, files, databases and addresses.
 *
 * @throws StackError when its databases cannot be others
 */
export function secondEnvironment(environment: Environment): Environment {
  if (environment.AUTH_DATABASE_URL !== undefined) {
    throw new StackError(
      'A second provider needs databases of its own: set DATABASE_URL, on which they are created, or nothing.'
    )
  }
  const base = readPortBase(environment.STACK_PORT_BASE) + SECOND_PORTS_AFTER
  return {
    ...environment,
    STACK_PORT_BASE: String(base),
    STACK_DIRECTORY: join(stackPaths(environment).directory, 'second'),
    ILP_ADDRESS: `${environment.ILP_ADDRESS ?? ILP_ADDRESS_DEFAULT}-second`
  }
}

/** The settings of the second provider, which may be on the same database server as the first. */
export function readSecondSettings(environment: Environment): StackSettings {
  const settings = readSettings(secondEnvironment(environment))
  const { databases } = settings
  if (databases.kind !== 'server') return settings
  return { ...settings, databases: { ...databases, names: { auth: 'auth_second', wallet: 'wallet_second' } } }
}

function readPortBase(text: string | undefined): number {
  if (text === undefined || text === '') return PORT_BASE_DEFAULT
  const base = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (base < 1024 || base > PORT_BASE_MAX + SECOND_PORTS_AFTER) {
    throw new StackError(`STACK_PORT_BASE must be a whole number from 1024 to ${String(PORT_BASE_MAX)}.`)
  }
  return base
}

function assertNoneRefused(ports: StackPorts): void {
  for (const [name, port] of Object.entries(ports) as [keyof StackPorts, number][]) {
    if (!REFUSED_PORTS.has(port)) continue
    throw new StackError(
      `Port ${String(port)} (for ${PORT_PURPOSES[name]}) is one that browsers and Node refuse to connect to.\n` +
        `Choose other ports, for instance: STACK_PORT_BASE=5000 npm start`
    )
  }
}

function readDatabases(environment: Environment): GivenDatabases {
  const auth = environment.AUTH_DATABASE_URL
  const resource = environment.RESOURCE_DATABASE_URL
  if (auth !== undefined && resource !== undefined) return { kind: 'databases', auth, resource }
  if (auth !== undefined || resource !== undefined) {
    throw new StackError('AUTH_DATABASE_URL and RESOURCE_DATABASE_URL must be set together, or neither.')
  }
  const url = environment.DATABASE_URL
  if (url === undefined) return { kind: 'embedded' }
  if (!URL.canParse(url))
    throw new StackError('DATABASE_URL must be a URL such as postgresql://user:password@host:5432/postgres.')
  return { kind: 'server', url, names: { auth: 'auth', wallet: 'wallet' } }
}
