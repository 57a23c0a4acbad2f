import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import {
  callUnary,
  createClient,
  createHandlers,
  isRpcError,
  Metadata,
  type RunningGrpcServer,
  status
} from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import { createLogger, Lifecycle } from '@open-payments-server/runtime'
import { TestClock } from '@open-payments-server/testing'
import { type JWTPayload, SignJWT } from 'jose'
import { startGrpcServices } from '../../src/grpc/index.js'
import { openIssuerKeys } from '../../src/issuers/index.js'
import {
  admitOperators,
  openOperators,
  refusePairwiseIssuers,
  type RolesOf
} from '../../src/operators/index.js'

const ROLES: RolesOf<typeof auth.GrantOperatorServiceService> = {
  listGrants: 'viewer',
  getGrant: 'viewer',
  getReservation: 'viewer',
  revokeGrant: 'operator',
  getConsentRecord: 'approver',
  freezeClient: 'operator',
  unfreezeClient: 'operator',
  listFrozenClients: 'viewer',
  auditLimits: 'viewer'
}

const logger = createLogger({ service: 'test', level: 'silent' })
const clock = new TestClock(Date.UTC(2026, 0, 15))
const lifecycle = new Lifecycle(logger)
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
/** Whether the issuer answers. */
let isUp = true
/** What it says of its subjects; undefined for nothing. */
let subjectTypes: readonly string[] | undefined
let issuer: string
const httpServer = createServer((request, response) => {
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] }
  response.writeHead(isUp ? 200 : 503, { 'content-type': 'application/json' })
  const document = { issuer, jwks_uri: `${issuer}/keys`, subject_types_supported: subjectTypes }
  response.end(JSON.stringify(request.url === '/keys' ? keys : document))
})

beforeAll(async () => {
  await new Promise<void>((resolve) => httpServer.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${String((httpServer.address() as AddressInfo).port)}`
})
afterAll(async () => {
  await lifecycle.stop()
  httpServer.closeAllConnections()
  await new Promise((resolve) => httpServer.close(resolve))
})

/** Signs an ID token; further claims take precedence. */
function idToken(claims: JWTPayload, key = privateKey, header: object = {}): Promise<string> {
  const now = Math.floor(clock.now() / 1_000)
  return new SignJWT({ iss: issuer, aud: 'console', sub: 'o-1', iat: now, exp: now + 600, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'JWT', ...header })
    .sign(key)
}

/** What a call with this metadata ends with: the names that its handler was told, or the code and words of its refusal. */
interface Caller {
  readonly call: (
    method: 'listGrants' | 'revokeGrant' | 'getConsentRecord',
    tokens?: readonly string[]
  ) => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** The setting of the issuer; further members take precedence. */
const issuersOf = (more: object = {}): string =>
  JSON.stringify([
    {
      issuer,
      clientIds: ['console'],
      rolesClaim: ['realm', 'groups'],
      roles: { viewer: ['support'], operator: ['operations', 'chiefs'], approver: ['treasury', 'chiefs'] },
      ...more
    }
  ])

async function serve(
  environment: 'production' | 'development',
  machines?: string,
  readers: readonly string[] = [],
  issuerSettings: object = {}
): Promise<Caller> {
  const config = {
    ENVIRONMENT: environment,
    OPERATOR_MACHINES: machines,
    OPERATOR_ISSUERS: issuersOf(issuerSettings)
  }
  const keys = openIssuerKeys({ config: { ENVIRONMENT: 'development' }, clock, logger, lifecycle })
  const definition = auth.GrantOperatorServiceService
  const handlers = admitOperators(
    createHandlers(logger),
    { definition, roles: ROLES, readers },
    { ...openOperators({ config, clock }, keys), logger }
  )
  let told: readonly string[] = []
  const tell = <Response>(response: Response) =>
    handlers.unary((_request: unknown, { clientNames }) => {
      told = clientNames
      return Promise.resolve(response)
    })
  const server: RunningGrpcServer = await startGrpcServices({
    config: {
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: 0,
      GRPC_REFLECTION: false,
      GRPC_CONNECTION_AGE_SECONDS: 180
    },
    services: [
      {
        definition,
        implementation: {
          listGrants: tell({ grants: [], nextPageToken: '' }),
          revokeGrant: tell({ grant: undefined }),
          getConsentRecord: tell({ consentRecord: undefined })
        }
      }
    ],
    logger
  })
  const client = createClient(auth.GrantOperatorServiceClient, {
    target: server.address,
    deadlineMs: 20_000,
    retriesMax: 0,
    messageBytesMax: 1 << 20
  })
  const requests = {
    listGrants: { identifier: '', clientWalletAddress: '', state: 0, pageSize: 0, pageToken: '' },
    revokeGrant: { grantId: '' },
    getConsentRecord: { grantId: '' }
  }
  return {
    async call(method, tokens = []) {
      const metadata = new Metadata()
      for (const token of tokens) metadata.add('operator-token', token)
      told = []
      try {
        await callUnary(client, method, requests[method], { idempotent: false, metadata })
        return told
      } catch (error) {
        if (!isRpcError(error)) throw error
        return `${status[error.code]}: ${error.message}`
      }
    },
    async stop() {
      client.close()
      await server.stop(1_000)
    }
  }
}

describe('a person who operates', () => {
  let production: Caller
  beforeAll(async () => {
    production = await serve('production', 'development=operator+approver')
  })
  afterAll(() => production.stop())

  it('has the roles of the claim, and no others, and is named to the handler', async () => {
    const missing = (role: string) =>
      `PERMISSION_DENIED: This call needs the role ${role}, which the operator does not have`
    const vera = [await idToken({ realm: { groups: ['support', 'others'] } })]
    expect(await production.call('listGrants', vera)).toEqual([`o-1 at ${issuer}`])
    expect(await production.call('revokeGrant', vera)).toBe(missing('operator'))
    const olga = [await idToken({ realm: { groups: 'operations' }, name: 'Olga\u202e\n (Boss)' })]
    expect(await production.call('listGrants', olga)).toEqual([`o-1 at ${issuer} (Olga (Boss))`])
    expect(await production.call('revokeGrant', olga)).toEqual([`o-1 at ${issuer} (Olga (Boss))`])
    expect(await production.call('getConsentRecord', olga)).toBe(missing('approver'))
    const tom = [await idToken({ realm: { groups: ['treasury'] } })]
    expect(await production.call('getConsentRecord', tom)).toEqual([`o-1 at ${issuer}`])
    expect(await production.call('revokeGrant', tom)).toBe(missing('operator'))
    const cleo = [await idToken({ realm: { groups: ['chiefs'] } })]
    expect(await production.call('revokeGrant', cleo)).toEqual([`o-1 at ${issuer}`])
    expect(await production.call('getConsentRecord', cleo)).toEqual([`o-1 at ${issuer}`])
  })

  it.each([
    ['no such claim', {}],
    ['a claim of another kind', { realm: 'operations' }],
    ['values that are no texts', { realm: { groups: [7, null, ['operations']] } }],
    ['the name of something that every object has', { realm: { groups: ['constructor', '__proto__'] } }]
  ])('has no role with %s', async (_what, claims) => {
    // The machine that passes the token on has every role: it does not count.
    expect(await production.call('listGrants', [await idToken(claims)])).toBe(
      'PERMISSION_DENIED: This call needs the role viewer, which the operator does not have'
    )
  })

  it.each<[string, () => Promise<string>, string]>([
    ['that is none', () => Promise.resolve('x'), 'must be a signed JWT in compact form'],
    ['of another issuer', () => idToken({ iss: 'https://other.test' }), 'iss must be an issuer'],
    ['for another client', () => idToken({ aud: 'shop' }), 'aud is missing or wrong'],
    ['for another client too', () => idToken({ aud: ['console', 'shop'] }), 'aud must be a client'],
    ['that another client may use', () => idToken({ azp: 'shop' }), 'azp must be a client'],
    [
      'that expired',
      () => idToken({ exp: Math.floor(clock.now() / 1_000) - 6 }),
      'exp shows that it is too old'
    ],
    [
      'that is older than a working day',
      () => idToken({ iat: Math.floor(clock.now() / 1_000) - 43_206 }),
      'iat shows that it is too old'
    ],
    ['signed by a stranger', () => idToken({}, stranger), 'its signature does not verify'],
    ['of another type', () => idToken({}, privateKey, { typ: 'at+jwt' }), 'typ must be JWT'],
    ['without a subject', () => idToken({ sub: undefined }), 'sub is missing or wrong'],
    ['whose subject is malformed', () => idToken({ sub: 'o 1' }), 'sub is malformed']
  ])('is not admitted with a token %s', async (_what, sign, problem) => {
    const answer = await production.call('listGrants', [await sign()])
    expect(answer).toMatch(/^UNAUTHENTICATED: operator-token: /)
    expect(answer).toContain(problem)
  })

  it('is not admitted with two tokens', async () => {
    const token = await idToken({ realm: { groups: ['chiefs'] } })
    expect(await production.call('listGrants', [token, token])).toMatch(/^UNAUTHENTICATED/)
  })

  it('waits for an issuer that does not answer: UNAVAILABLE, and admitted once it does', async () => {
    const fresh = await serve('production')
    const token = [await idToken({ realm: { groups: ['support'] } })]
    isUp = false
    expect(await fresh.call('listGrants', token)).toBe('UNAVAILABLE: Service unavailable')
    isUp = true
    expect(await fresh.call('listGrants', token)).toEqual([`o-1 at ${issuer}`])
    await fresh.stop()
  })
})

describe('a person of an issuer with pairwise subjects', () => {
  const groups = { realm: { groups: ['support'] } }
  afterEach(() => {
    subjectTypes = undefined
    isUp = true
  })

  it('is one person by the claim that OPERATOR_ISSUERS names, whatever `sub` each client has', async () => {
    subjectTypes = ['pairwise']
    const caller = await serve('production', undefined, [], {
      clientIds: ['console', 'command-line'],
      personClaim: 'oid'
    })
    for (const [aud, sub] of [
      ['console', 'p-1'],
      ['command-line', 'p-2']
    ])
      expect(await caller.call('listGrants', [await idToken({ ...groups, aud, sub, oid: 'olga' })])).toEqual([
        `olga at ${issuer}`
      ])
    for (const oid of [undefined, 7, 'o 1', '', 'o'.repeat(256)])
      expect(await caller.call('listGrants', [await idToken({ ...groups, oid })])).toBe(
        'UNAUTHENTICATED: operator-token: oid is missing or malformed'
      )
    await caller.stop()
  })

  it('is not admitted without such a claim', async () => {
    subjectTypes = ['pairwise']
    const caller = await serve('production')
    expect(await caller.call('listGrants', [await idToken(groups)])).toMatch(/^UNAUTHENTICATED: .*pairwise/)
    await caller.stop()
  })

  it.each<[string, readonly string[] | undefined, object, boolean]>([
    ['refused', ['pairwise'], {}, true],
    ['not refused with a claim', ['pairwise'], { personClaim: 'oid' }, false],
    ['not refused with other subjects, too', ['pairwise', 'public'], {}, false],
    ['not refused when it does not say', undefined, {}, false]
  ])('lets the issuer be %s at the start', async (_what, types, settings, isRefused) => {
    subjectTypes = types
    const keys = openIssuerKeys({ config: { ENVIRONMENT: 'development' }, clock, logger, lifecycle })
    const config = { ENVIRONMENT: 'production', OPERATOR_ISSUERS: issuersOf(settings) } as const
    const refused = await refusePairwiseIssuers(config, keys).then(
      () => '',
      (error: unknown) => String(error)
    )
    expect(refused.includes(`${issuer} gives one person another sub at each client`)).toBe(isRefused)
  })

  it('is found with the first token when the issuer was away at the start', async () => {
    subjectTypes = ['pairwise']
    isUp = false
    const keys = openIssuerKeys({ config: { ENVIRONMENT: 'development' }, clock, logger, lifecycle })
    await refusePairwiseIssuers({ ENVIRONMENT: 'production', OPERATOR_ISSUERS: issuersOf() }, keys)
    const caller = await serve('production')
    isUp = true
    expect(await caller.call('listGrants', [await idToken(groups)])).toMatch(/^UNAUTHENTICATED: .*pairwise/)
    await caller.stop()
  })
})

describe('a machine that operates', () => {
  it('may do everything in development, and nothing in production, unless it is named', async () => {
    const development = await serve('development')
    expect(await development.call('getConsentRecord')).toEqual([])
    await development.stop()
    const production = await serve('production')
    expect(await production.call('listGrants')).toBe(
      'PERMISSION_DENIED: This call needs the role viewer, which the machine does not have'
    )
    await production.stop()
  })

  it('may do what OPERATOR_MACHINES says', async () => {
    const named = await serve('development', 'development=approver')
    expect(await named.call('listGrants')).toEqual([])
    expect(await named.call('getConsentRecord')).toEqual([])
    expect(await named.call('revokeGrant')).toMatch(/^PERMISSION_DENIED/)
    await named.stop()
  })
})
