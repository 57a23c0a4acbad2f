import { describe, expect, it } from '@jest/globals'
import { loadConfig } from './config.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

const safe = {
  PUBLIC_URL: 'https://pages.wallet.test',
  TRUSTED_PROXIES: '10.0.0.0/8',
  ISSUER: 'https://login.wallet.test',
  CLIENT_ID: 'consent-page',
  CLIENT_SECRET: 'Zq8rW2nYb5Kd7VtX',
  SESSION_KEY: 'Vb3xQ9rTz1LkW7nM',
  AUTH_API_URL: 'http://auth-server:3001',
  IDENTITY_PROVIDER_SECRET: 'hJ6dPs0FyCa2GuE4',
  RESOURCE_GRPC_TARGET: 'dns:///resource-server-grpc:3002',
  RESOURCE_GRPC_TLS_CA_FILE: '/run/secrets/grpc/ca.crt',
  RESOURCE_GRPC_TLS_CERTIFICATE_FILE: '/run/secrets/grpc/tls.crt',
  RESOURCE_GRPC_TLS_KEY_FILE: '/run/secrets/grpc/tls.key',
  AUTH_GRPC_TARGET: 'dns:///auth-server-grpc:3002',
  AUTH_GRPC_TLS_CA_FILE: '/run/secrets/grpc/ca.crt',
  AUTH_GRPC_TLS_CERTIFICATE_FILE: '/run/secrets/grpc/tls.crt',
  AUTH_GRPC_TLS_KEY_FILE: '/run/secrets/grpc/tls.key'
}
const PLAIN = {
  RESOURCE_GRPC_TLS_CA_FILE: undefined,
  RESOURCE_GRPC_TLS_CERTIFICATE_FILE: undefined,
  RESOURCE_GRPC_TLS_KEY_FILE: undefined
}
const WITHOUT_PAGES = {
  PUBLIC_URL: undefined,
  CLIENT_ID: undefined,
  CLIENT_SECRET: undefined,
  AUTH_API_URL: undefined,
  IDENTITY_PROVIDER_SECRET: undefined
}
const CONSOLE = {
  CONSOLE_PORT: '3010',
  CONSOLE_URL: 'https://console.wallet.test',
  CONSOLE_CLIENT_ID: 'console'
}
const start = (changed: Record<string, string | undefined>) => () => {
  refuseUnsafeStart(loadConfig({ ...safe, ...changed }))
}

describe('the pages', () => {
  it('start in production over https, alone without Redis', () => {
    expect(start({})).not.toThrow()
    expect(start({ REPLICA_COUNT: '2', REDIS_URL: 'rediss://redis.test' })).not.toThrow()
  })

  it('start as a console alone, without any secret of theirs', () => {
    expect(start({ ...WITHOUT_PAGES, ...CONSOLE })).not.toThrow()
  })

  it.each([
    [{ REPLICA_COUNT: '2' }, /- REDIS_URL: must be set/],
    [{ PUBLIC_URL: 'http://pages.wallet.test' }, /- PUBLIC_URL: must be an https URL/],
    [{ PUBLIC_URL: 'https://a.test,https://b.test' }, /- PUBLIC_URL: must be one origin/],
    [{ ISSUER: 'http://login.wallet.test' }, /- ISSUER: must be an https URL/],
    [
      { CLIENT_ID: undefined, AUTH_API_URL: undefined },
      /- CLIENT_ID: must be[^]*- AUTH_API_URL: must be set/
    ],
    [{ ...CONSOLE, PUBLIC_URL: undefined }, /- PUBLIC_URL: must be set when CLIENT_ID is/],
    [WITHOUT_PAGES, /- PUBLIC_URL: must be set, or CONSOLE_PORT for a console alone/],
    [{ CONSOLE_PORT: '3010' }, /- CONSOLE_URL: must be set[^]*- CONSOLE_CLIENT_ID: must be set/],
    [PLAIN, /- RESOURCE_GRPC_TLS_CA_FILE|- RESOURCE_GRPC_TLS_CERTIFICATE_FILE: must be set in production/],
    [{ ...PLAIN, ENVIRONMENT: 'development' }, /- RESOURCE_GRPC_TARGET: must be an address of this machine/],
    [{ AUTH_GRPC_TLS_KEY_FILE: undefined }, /- AUTH_GRPC_TLS_KEY_FILE: must be set/],
    [{ AUTH_GRPC_TARGET: 'ipv4:10.0.0.1:3002' }, /- AUTH_GRPC_TLS_SERVER_NAME: must be the name/],
    [{ RESOURCE_GRPC_TARGET: '10.0.0.2:3002' }, /- RESOURCE_GRPC_TLS_SERVER_NAME: must be the name/],
    [{ SESSION_KEY: 'a-long-random-text-for-sessions' }, /- SESSION_KEY: is an example/],
    [{ SESSION_KEY: safe.CLIENT_SECRET }, /must not be the same as/],
    [{ TIME_ZONE: 'Mars/Base' }, /TIME_ZONE: expected a time zone/],
    [{ BRAND_COLOR: 'red; }' }, /BRAND_COLOR: expected # and six/]
  ])('do not start with %j', (changed, message) => {
    expect(start(changed)).toThrow(message)
  })
})
