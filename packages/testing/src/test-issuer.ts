import { generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '@open-payments-server/value-types/clock'
import { type JWTPayload, SignJWT } from 'jose'

/** A key that signs, with its public JWK. */
export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: KeyObject
  readonly jwk: JsonWebKey & { kid: string }
}

/** Makes a key of an issuer. */
export function createIssuerKey(alg: 'ES256' | 'EdDSA' = 'ES256'): IssuerKey {
  const kid = randomUUID()
  const { privateKey, publicKey } =
    alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519')
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}

/** Signs claims as they are. */
export function signJwt(claims: JWTPayload, key: IssuerKey, header: object = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })
    .sign(key.privateKey)
}

/** An OpenID Connect issuer, as far as ID tokens need it: discovery and keys over HTTP. */
export interface TestIssuer {
  /** `iss` of its ID tokens. */
  readonly issuer: string
  /** The key that signs. */
  key: IssuerKey
  /** The keys that are published. */
  published: readonly IssuerKey[]
  /** How it answers. */
  mode: 'up' | 'down' | 'silent'
  /** Differences from its discovery document. */
  discovery: Readonly<Record<string, unknown>>
  /** How often its keys were fetched. */
  readonly fetches: { count: number }
  /** Signs an ID token; further claims take precedence. */
  idToken(claims: JWTPayload, header?: object): Promise<string>
  stop(): Promise<void>
}

/** Starts an issuer on a free port of this machine. */
export async function startTestIssuer(clock: Clock, client: string): Promise<TestIssuer> {
  const waiting: ServerResponse[] = []
  const fetches = { count: 0 }
  const server = createServer((request, response) => {
    if (issuer.mode === 'silent') {
      waiting.push(response)
      return
    }
    const isKeys = request.url === '/keys'
    if (isKeys) fetches.count += 1
    const discovery = { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys`, ...issuer.discovery }
    const body = isKeys ? { keys: issuer.published.map(({ jwk }) => jwk) } : discovery
    response.writeHead(issuer.mode === 'down' ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const key = createIssuerKey()
  const issuer: TestIssuer = {
    issuer: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    key,
    published: [key],
    mode: 'up',
    discovery: {},
    fetches,
    idToken(claims, header) {
      const now = Math.floor(clock.now() / 1_000)
      const usual = { iss: issuer.issuer, aud: client, iat: now, exp: now + 600 }
      return signJwt({ ...usual, ...claims }, issuer.key, header)
    },
    stop() {
      for (const response of waiting) response.destroy()
      server.closeAllConnections()
      return new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
      })
    }
  }
  return issuer
}
