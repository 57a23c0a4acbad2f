import { describe, expect, it } from '@jest/globals'
import { loadConfig } from './config.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

const safe = {
  PUBLIC_URL: 'https://auth.test/',
  CONSENT_PAGE_URL: 'https://wallet.test/consent',
  IDENTITY_PROVIDER_SECRET: 'Vb3xQ9rTz1LkW7nM',
  CONSENT_PROOF: 'none',
  INTERACTION_COOKIE_SECRET: 'hJ6dPs0FyCa2GuE4',
  TRUSTED_PROXIES: '10.0.0.0/8',
  DATABASE_URL: 'postgresql://postgres.test/auth?sslmode=verify-full',
  DATABASE_DURABILITY: 'synchronous',
  GRPC_TLS_CERTIFICATE_FILE: '/run/secrets/grpc/tls.crt',
  GRPC_TLS_KEY_FILE: '/run/secrets/grpc/tls.key',
  GRPC_TLS_CLIENT_CA_FILE: '/run/secrets/grpc/ca.crt',
  GRPC_INTROSPECTION_CLIENTS: 'spiffe://wallet.test/resource-server',
  GRPC_LIMITS_CLIENTS: 'spiffe://wallet.test/resource-server',
  GRPC_OPERATOR_CLIENTS: 'operator.wallet.test',
  OPERATOR_MACHINES: 'operator.wallet.test=operator+approver'
}
const PLAINTEXT_GRPC = {
  GRPC_TLS_CERTIFICATE_FILE: undefined,
  GRPC_TLS_KEY_FILE: undefined,
  GRPC_TLS_CLIENT_CA_FILE: undefined
}
const ISSUERS = 'page@https://login.test'
const KEYS = JSON.stringify({
  keys: [
    { kid: 'k', kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x: 'Vn6u-0yCm3IlJRAxvWPyb4HQUn3uQqPJnwcwNJfRcFU' }
  ]
})
const PROVING = { CONSENT_PROOF: 'required', CONSENT_ISSUERS: ISSUERS, OWNERSHIP_PUBLIC_KEYS: KEYS }
const start = (changed: Record<string, string | undefined>) => () => {
  refuseUnsafeStart(loadConfig({ ...safe, ...changed }))
}

const operatorsOf = (clientId: string | undefined): string =>
  JSON.stringify([
    {
      issuer: 'https://login.test',
      clientIds: [clientId],
      rolesClaim: 'groups',
      roles: { viewer: ['support'] }
    }
  ])

describe('the auth server', () => {
  it('starts in production with https URLs, alone without Redis', () => {
    expect(start({})).not.toThrow()
    expect(start({ REPLICA_COUNT: '3', REDIS_URL: 'rediss://redis.test' })).not.toThrow()
    expect(start(PROVING)).not.toThrow()
  })

  it.each([
    [{ CONSENT_PROOF: undefined }, /- CONSENT_PROOF: must be set in production/],
    [{ ...PROVING, CONSENT_ISSUERS: undefined }, /- CONSENT_ISSUERS: required/],
    [{ ...PROVING, OWNERSHIP_PUBLIC_KEYS: undefined }, /- OWNERSHIP_PUBLIC_KEYS: required/],
    [
      { ...PROVING, CONSENT_ISSUERS: 'https://login.test' },
      /- CONSENT_ISSUERS: "https:\/\/login.test" is not/
    ],
    [{ ...PROVING, CONSENT_SIGN_IN_FROM: '100' }, /- CONSENT_SIGN_IN_FROM: "100" is not/],
    [{ ...PROVING, CONSENT_ISSUERS: `${ISSUERS}?a=b` }, /- CONSENT_ISSUERS: /],
    [{ ...PROVING, CONSENT_ISSUERS: 'page@http://login.test' }, /- CONSENT_ISSUERS: must have https URLs/],
    [{ ...PROVING, OWNERSHIP_PUBLIC_KEYS: '{"keys":[]}' }, /- OWNERSHIP_PUBLIC_KEYS: must be a JWK Set/],
    [{ ...PROVING, OWNERSHIP_PUBLIC_KEYS: 'd-of-a-key' }, /- OWNERSHIP_PUBLIC_KEYS: must be a JWK Set/],
    [
      { ...PROVING, OWNERSHIP_PUBLIC_KEYS: KEYS.replace('"kid"', '"d":"AAAA","kid"') },
      /- OWNERSHIP_PUBLIC_KEYS: d must not be present/
    ],
    [{ OPERATOR_MACHINES: undefined }, /- OPERATOR_MACHINES: must be set in production/],
    [{ OPERATOR_ISSUERS: '[]' }, /- OPERATOR_ISSUERS: /],
    [
      {
        ...PROVING,
        OPERATOR_ISSUERS: operatorsOf(ISSUERS.split('@')[0]),
        OPERATOR_MACHINES: 'operator.wallet.test=viewer'
      },
      /- OPERATOR_ISSUERS: .* is a client of CONSENT_ISSUERS too/
    ],
    [
      { OPERATOR_ISSUERS: operatorsOf('console') },
      /- OPERATOR_MACHINES: where people sign in .* operator\.wallet\.test=viewer/
    ],
    [{ REPLICA_COUNT: '2' }, /REDIS_URL/],
    [{ PUBLIC_URL: 'http://auth.test/' }, /PUBLIC_URL/],
    [{ CONSENT_PAGE_URL: 'http://wallet.test/' }, /CONSENT_PAGE_URL/],
    [{ INTERACTION_REQUIRED_FOR: 'everything' }, /INTERACTION_REQUIRED_FOR/],
    [{ CONTINUATION_WAIT_SECONDS: '600' }, /INTERACTION_REFERENCE_LIFETIME_SECONDS/],
    [{ PURGE_RETENTION_DAYS: '1' }, /PURGE_RETENTION_DAYS/],
    [{ GRPC_TLS_KEY_FILE: undefined }, /- GRPC_TLS_KEY_FILE: must be set when GRPC_TLS_CERTIFICATE_FILE is/],
    [PLAINTEXT_GRPC, /- GRPC_TLS_CERTIFICATE_FILE: must be set in production/],
    [{ GRPC_INTROSPECTION_CLIENTS: undefined }, /- GRPC_INTROSPECTION_CLIENTS: must be set/],
    [{ GRPC_LIMITS_CLIENTS: undefined }, /- GRPC_LIMITS_CLIENTS: must be set/],
    [{ GRPC_OPERATOR_CLIENTS: undefined }, /- GRPC_OPERATOR_CLIENTS: must be set/],
    [{ ...PLAINTEXT_GRPC, ENVIRONMENT: 'development' }, /- GRPC_HOST: must be an address of this machine/],
    [{ IDENTITY_PROVIDER_SECRET: 'a-long-random-text' }, /IDENTITY_PROVIDER_SECRET: is an example/],
    [
      { DATABASE_URL: 'postgresql://auth:password@postgres/auth' },
      /DATABASE_URL: has a password that everybody/
    ]
  ])('does not start with %j', (changed, message) => {
    expect(start(changed)).toThrow(message)
  })

  it('takes http URLs, and gRPC in plain text on this machine, in development', () => {
    const changed = {
      ...PLAINTEXT_GRPC,
      GRPC_HOST: '127.0.0.1',
      ENVIRONMENT: 'development',
      PUBLIC_URL: 'http://localhost:4000',
      CONSENT_PAGE_URL: 'http://localhost:4002'
    }
    expect(start(changed)).not.toThrow()
  })

  it('still needs Redis for replicas in development', () => {
    expect(start({ ENVIRONMENT: 'development', REPLICA_COUNT: '2' })).toThrow(/REDIS_URL/)
  })
})
