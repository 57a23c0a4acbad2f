import { describe, expect, it } from '@jest/globals'
import { loadConfig } from './config.js'
import { refuseUnsafeStart } from './refuse-unsafe-start.js'

const SAFE = {
  PUBLIC_URL: 'https://wallet.example',
  AUTH_SERVER_URL: 'https://auth.wallet.example/',
  AUTH_GRPC_TARGET: 'dns:///auth-server-grpc:3002',
  DATABASE_URL: 'postgresql://wallet@postgres:5432/wallet',
  SHARED_SECRET_KEY: 'Vb3xQ9rTz1LkW7nM'
}

const start = (settings: Record<string, string>) => () => {
  refuseUnsafeStart(loadConfig({ ...SAFE, ...settings }))
}

describe('the start', () => {
  it('goes on with settings that are safe', () => {
    expect(start({})).not.toThrow()
    expect(start({ REPLICA_COUNT: '3', REDIS_URL: 'redis://redis:6379' })).not.toThrow()
    expect(
      start({ ENVIRONMENT: 'development', PUBLIC_URL: 'http://localhost:3000', GRPC_REFLECTION: 'true' })
    ).not.toThrow()
  })

  it.each<[string, Record<string, string>]>([
    ['REDIS_URL', { REPLICA_COUNT: '2' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://wallet.example' }],
    ['AUTH_SERVER_URL', { AUTH_SERVER_URL: 'http://auth.example' }],
    ['WALLET_ADDRESS_PAGE_URL', { WALLET_ADDRESS_PAGE_URL: 'http://wallet.example/pay' }],
    ['GRPC_REFLECTION', { GRPC_REFLECTION: 'true' }],
    ['SHARED_SECRET_KEY', { SHARED_SECRET_KEY: 'a-long-random-text' }],
    ['SHARED_SECRET_KEYS_RETIRED', { SHARED_SECRET_KEYS_RETIRED: 'x'.repeat(20) }],
    ['DATABASE_URL', { DATABASE_URL: 'postgresql://wallet:password@postgres/wallet' }],
    ['ILP_ADDRESS', { ILP_ADDRESS: 'wallet' }],
    ['ILP_ADDRESS', { ILP_ADDRESS: 'g.wallet example' }]
  ])('is refused, naming %s, with %j', (name, settings) => {
    expect(start(settings)).toThrow(new RegExp(`- ${name}: `))
  })
})
