import { describe, expect, it } from '@jest/globals'
import { loadConfig } from './config.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

const SAFE = {
  PUBLIC_URL: 'https://wallet.example',
  AUTH_SERVER_URL: 'https://auth.wallet.example/',
  AUTH_GRPC_TARGET: 'dns:///auth-server-grpc:3002',
  AUTH_GRPC_TLS_CA_FILE: '/run/secrets/grpc/ca.crt',
  AUTH_GRPC_TLS_CERTIFICATE_FILE: '/run/secrets/grpc/tls.crt',
  AUTH_GRPC_TLS_KEY_FILE: '/run/secrets/grpc/tls.key',
  GRPC_TLS_CERTIFICATE_FILE: '/run/secrets/grpc/tls.crt',
  GRPC_TLS_KEY_FILE: '/run/secrets/grpc/tls.key',
  GRPC_TLS_CLIENT_CA_FILE: '/run/secrets/grpc/ca.crt',
  GRPC_OPERATOR_CLIENTS: 'operator.wallet.test',
  OPERATOR_MACHINES: 'operator.wallet.test=operator+approver',
  DATABASE_URL: 'postgresql://wallet@postgres:5432/wallet?sslmode=verify-full',
  DATABASE_DURABILITY: 'synchronous',
  TRUSTED_PROXIES: '10.0.0.0/8',
  SHARED_SECRET_KEY: 'Vb3xQ9rTz1LkW7nM'
}

/** Not read here: what is in it is found out at the start of what signs with it. */
const OWNERSHIP_KEYS = '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"Xw3Kq","d":"Zr8Lm"}]}'

const OPERATORS =
  '[{"issuer":"https://login.test","clientIds":["console"],"rolesClaim":"groups","roles":{"operator":["operations"]}}]'

const PLAINTEXT_LISTENER = {
  GRPC_TLS_CERTIFICATE_FILE: undefined,
  GRPC_TLS_KEY_FILE: undefined,
  GRPC_TLS_CLIENT_CA_FILE: undefined
}
const PLAINTEXT_CONNECTION = {
  AUTH_GRPC_TLS_CA_FILE: undefined,
  AUTH_GRPC_TLS_CERTIFICATE_FILE: undefined,
  AUTH_GRPC_TLS_KEY_FILE: undefined
}

const start = (settings: Record<string, string | undefined>) => () => {
  refuseUnsafeStart(loadConfig({ ...SAFE, ...settings }))
}

describe('the start', () => {
  it('goes on with settings that are safe', () => {
    expect(start({})).not.toThrow()
    expect(start({ REPLICA_COUNT: '3', REDIS_URL: 'rediss://redis:6379' })).not.toThrow()
    expect(
      start({ ENVIRONMENT: 'development', PUBLIC_URL: 'http://localhost:3000', GRPC_REFLECTION: 'true' })
    ).not.toThrow()
    expect(start({ OWNERSHIP_KEYS, GRPC_HOLDER_CLIENTS: 'web.wallet.test' })).not.toThrow()
    const OPERATOR_MACHINES = 'operator.wallet.test=viewer,core.wallet.test=operator+unattended'
    expect(start({ OPERATOR_ISSUERS: OPERATORS, OPERATOR_MACHINES })).not.toThrow()
    expect(
      start({ AUTH_GRPC_TARGET: 'ipv4:10.0.0.1:3002', AUTH_GRPC_TLS_SERVER_NAME: 'auth-server-grpc' })
    ).not.toThrow()
    expect(
      start({
        ...PLAINTEXT_LISTENER,
        ...PLAINTEXT_CONNECTION,
        ENVIRONMENT: 'development',
        GRPC_HOST: '127.0.0.1',
        AUTH_GRPC_TARGET: 'localhost:4004'
      })
    ).not.toThrow()
  })

  it.each<[string, Record<string, string | undefined>]>([
    ['GRPC_HOLDER_CLIENTS', { OWNERSHIP_KEYS }],
    ['HOLDER_CLAIM', { HOLDER_CLAIM_ISSUER: 'https://login.wallet.example' }],
    ['HOLDER_CLAIM_ISSUER', { HOLDER_CLAIM: 'accounts' }],
    ['HOLDER_CLAIM', { HOLDER_CLAIM: 'email', HOLDER_CLAIM_ISSUER: 'https://login.wallet.example' }],
    ['REDIS_URL', { REPLICA_COUNT: '2' }],
    ['REDIS_URL', { REDIS_URL: 'redis://redis:6379' }],
    ['DATABASE_URL', { DATABASE_URL: 'postgresql://wallet@postgres/wallet' }],
    ['DATABASE_URL', { DATABASE_URL: 'postgresql://a,b/wallet?sslmode=verify-full' }],
    ['DATABASE_DURABILITY', { DATABASE_DURABILITY: undefined }],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://wallet.example' }],
    ['AUTH_SERVER_URL', { AUTH_SERVER_URL: 'http://auth.example' }],
    ['WALLET_ADDRESS_BASE_URL', { WALLET_ADDRESS_BASE_URL: 'http://wallet.example' }],
    ['WALLET_ADDRESS_PAGE_URL', { WALLET_ADDRESS_PAGE_URL: 'http://wallet.example/pay' }],
    ['GRPC_REFLECTION', { GRPC_REFLECTION: 'true' }],
    ['SHARED_SECRET_KEY', { SHARED_SECRET_KEY: 'a-long-random-text' }],
    ['SHARED_SECRET_KEYS_OTHER', { SHARED_SECRET_KEYS_OTHER: 'x'.repeat(20) }],
    ['DATABASE_URL', { DATABASE_URL: 'postgresql://wallet:password@postgres/wallet' }],
    ['GRPC_TLS_CERTIFICATE_FILE', PLAINTEXT_LISTENER],
    ['GRPC_TLS_CLIENT_CA_FILE', { GRPC_TLS_CLIENT_CA_FILE: undefined }],
    ['GRPC_OPERATOR_CLIENTS', { GRPC_OPERATOR_CLIENTS: undefined }],
    ['OPERATOR_MACHINES', { OPERATOR_MACHINES: undefined }],
    ['OPERATOR_MACHINES', { OPERATOR_ISSUERS: OPERATORS }],
    ['OPERATOR_ISSUERS', { OPERATOR_ISSUERS: '{' }],
    ['GRPC_HOST', { ...PLAINTEXT_LISTENER, ENVIRONMENT: 'development' }],
    ['AUTH_GRPC_TLS_CA_FILE', PLAINTEXT_CONNECTION],
    ['AUTH_GRPC_TLS_CERTIFICATE_FILE', { AUTH_GRPC_TLS_CERTIFICATE_FILE: undefined }],
    ['AUTH_GRPC_TARGET', { ...PLAINTEXT_CONNECTION, ENVIRONMENT: 'development' }],
    ['AUTH_GRPC_TLS_SERVER_NAME', { AUTH_GRPC_TARGET: 'ipv4:10.0.0.1:3002,10.0.0.2:3002' }],
    ['ILP_ADDRESS', { ILP_ADDRESS: 'wallet' }],
    ['ILP_ADDRESS', { ILP_ADDRESS: 'g.wallet example' }]
  ])('is refused, naming %s, with %j', (name, settings) => {
    expect(start(settings)).toThrow(new RegExp(`- ${name}: `))
  })
})
