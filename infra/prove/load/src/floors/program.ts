// Bare programs that do the least a call needs, with one process for each service that the call needs. Started with a role and
// the URL of a database; reports its ports over IPC.
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type UntypedServiceImplementation
} from '@grpc/grpc-js'
import { ED25519_LIBRARY } from '@open-payments-server/http-signatures'
import { auth } from '@open-payments-server/proto'
import pg from 'pg'
import { FloorDatabase, type FloorKind } from './statements.js'

/** As many as each service has. */
const CONNECTIONS_MAX = 16
const DEADLINE_MS = 10_000

/** Options of the program. */
export interface FloorOptions {
  readonly role: 'auth' | 'resource'
  readonly databaseUrl: string
  /** Address of the other role's gRPC, for payments. */
  readonly grpcTarget?: string
}

/** Where the floors answer: addresses by kind. */
export type FloorAddresses = Readonly<Partial<Record<FloorKind | 'grpc', string>>>

const HTTP_KINDS: Readonly<Record<FloorOptions['role'], readonly FloorKind[]>> = {
  auth: ['grant', 'rotation'],
  resource: ['public', 'read', 'list', 'create', 'payment']
}

const options = JSON.parse(process.argv[2] ?? '{}') as FloorOptions
process.on('disconnect', () => process.exit())
process.send?.(await start(options))

async function start({ role, databaseUrl, grpcTarget }: FloorOptions): Promise<FloorAddresses> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS_MAX })
  const database = await FloorDatabase.open(pool)
  const limits =
    grpcTarget === undefined
      ? undefined
      : new auth.GrantLimitsServiceClient(grpcTarget, credentials.createInsecure())
  const addresses: [string, string][] = []
  for (const kind of HTTP_KINDS[role])
    addresses.push([kind, await serveHttp(createWork(kind, database, limits))])
  if (role === 'auth') addresses.push(['grpc', await serveGrpc(database)])
  return Object.fromEntries(addresses)
}

type Work = () => Promise<unknown>

/** As large as a wallet address. */
const KEPT = { id: 'http://localhost:40000/alice', publicName: 'x'.repeat(200) }

/** The work before an answer. Every kind except the public ones verifies a signature first. */
function createWork(
  kind: FloorKind,
  database: FloorDatabase,
  limits: auth.GrantLimitsServiceClient | undefined
): Work {
  if (kind === 'public') return () => Promise.resolve(KEPT)
  const verifyOnce = createVerification()
  return async () => {
    verifyOnce()
    if (limits !== undefined && kind === 'payment') await reserve(limits)
    return database.run(kind)
  }
}

/** Verifies one Ed25519 signature of a base as long as that of a payment (RFC 9421), by a key and a library as the services do. */
function createVerification(): () => void {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const digest = createHash('sha512').digest('base64')
  const base = Buffer.from(
    [
      '"@method": POST',
      '"@target-uri": http://localhost:40000/outgoing-payments',
      `"authorization": GNAP ${'A'.repeat(43)}`,
      `"content-digest": sha-512=:${digest}:`,
      '"content-length": 240',
      '"content-type": application/json',
      '"@signature-params": ("@method" "@target-uri" "authorization" "content-digest" "content-length" "content-type")' +
        ';keyid="shop-key";created=1750000000'
    ].join('\n')
  )
  const signature = sign(null, base, privateKey)
  return () => {
    if (!ED25519_LIBRARY.verify(base, signature, publicKey)) throw new Error('the signature does not verify')
  }
}

const RESERVATION = auth.ReservationRequest.fromPartial({
  paymentId: '01930000-0000-7000-8000-000000000000',
  accessToken: 'A'.repeat(43),
  walletAddress: 'http://localhost:40000/alice',
  receiver: 'http://localhost:40000/incoming-payments/01930000-0000-7000-8000-000000000000',
  debitAmount: { value: '10', assetCode: 'USD', assetScale: 2 },
  receiveAmount: { value: '10', assetCode: 'USD', assetScale: 2 },
  requestHash: Buffer.alloc(32)
})

function reserve(limits: auth.GrantLimitsServiceClient): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = { reservations: [RESERVATION] }
    limits.reserve(request, new Metadata(), { deadline: Date.now() + DEADLINE_MS }, (error) => {
      if (error === null) resolve()
      else reject(error)
    })
  })
}

async function serveHttp(work: Work): Promise<string> {
  const server = createServer((request, response) => {
    request.on('end', () => void answer(request, response, work))
    request.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
}

/** Every floor answers 200: the generator is configured with the expected status. */
async function answer(_request: IncomingMessage, response: ServerResponse, work: Work): Promise<void> {
  try {
    const body = Buffer.from(JSON.stringify(await work()))
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  } catch (error) {
    response.writeHead(500)
    response.end(error instanceof Error ? error.message : String(error))
  }
}

const ACTIVE = auth.IntrospectResponse.fromPartial({
  status: auth.TokenStatus.TOKEN_STATUS_ACTIVE,
  grantId: '01930000-0000-7000-8000-000000000000'
})

async function serveGrpc(database: FloorDatabase): Promise<string> {
  const server = new Server()
  const introspection: UntypedServiceImplementation = {
    introspect: unary(async () => {
      await database.run('introspection')
      return ACTIVE
    })
  }
  const limits: UntypedServiceImplementation = {
    reserve: unary(async () => {
      await database.reserve()
      return auth.ReserveResponse.fromPartial({})
    })
  }
  server.addService(auth.IntrospectionServiceService, introspection)
  server.addService(auth.GrantLimitsServiceService, limits)
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound)
      else reject(error)
    })
  })
  return `127.0.0.1:${String(port)}`
}

function unary(work: () => Promise<unknown>): UntypedServiceImplementation[string] {
  return (_call: unknown, callback: (error: Error | null, answer?: unknown) => void) => {
    work().then(
      (result) => callback(null, result),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)))
    )
  }
}
