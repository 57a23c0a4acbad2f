import { describe, expect, it } from '@jest/globals'
import { findUnsafeSettings, Secret } from './index.js'
import type { GuardedSettings } from './unsafe-settings.js'

const SAFE = {
  ENVIRONMENT: 'production',
  REPLICA_COUNT: 1,
  GRPC_REFLECTION: false,
  TRUSTED_PROXIES: 0,
  DATABASE_URL: new Secret('postgresql://wallet@postgres:5432/wallet?sslmode=verify-full'),
  DATABASE_DURABILITY: 'synchronous',
  PUBLIC_URL: 'https://wallet.example'
} as const

const find = (changed: Partial<GuardedSettings> & { PUBLIC_URL?: string; PAGE_URL?: string }) =>
  findUnsafeSettings<'PUBLIC_URL' | 'PAGE_URL'>({ ...SAFE, ...changed }, ['PUBLIC_URL', 'PAGE_URL'])

describe('settings that are unsafe together', () => {
  it('do not include one process with https URLs, or replicas with Redis', () => {
    expect(find({})).toEqual([])
    expect(find({ REPLICA_COUNT: 3, REDIS_URL: new Secret('rediss://redis:6379') })).toEqual([])
  })

  it('include replicas without Redis, in development too', () => {
    const problem = [expect.stringMatching(/^REDIS_URL: must be set when REPLICA_COUNT is above 1/)]
    expect(find({ REPLICA_COUNT: 2 })).toEqual(problem)
    expect(find({ REPLICA_COUNT: 2, ENVIRONMENT: 'development' })).toEqual(problem)
  })

  it('include, in production, rate limits without TRUSTED_PROXIES', () => {
    const problem = [expect.stringMatching(/^TRUSTED_PROXIES: must be set in production/)]
    expect(find({ TRUSTED_PROXIES: undefined })).toEqual(problem)
    expect(find({ TRUSTED_PROXIES: undefined, RATE_LIMITS: true })).toEqual(problem)
    expect(find({ TRUSTED_PROXIES: undefined, RATE_LIMITS: false })).toEqual([])
    expect(find({ TRUSTED_PROXIES: ['10.0.0.0/8'] })).toEqual([])
    expect(find({ TRUSTED_PROXIES: undefined, ENVIRONMENT: 'development' })).toEqual([])
  })

  it('include, in production, stores that are reached in plain text, but for those on this machine', () => {
    const withStores = (database: string, redis: string, more: Partial<GuardedSettings> = {}) =>
      find({ DATABASE_URL: new Secret(database), REDIS_URL: new Secret(redis), ...more }).map((problem) =>
        problem.slice(0, problem.indexOf(':'))
      )
    const both = ['DATABASE_URL', 'REDIS_URL']
    const database = 'postgresql://wallet@postgres/wallet'
    expect(withStores(database, 'redis://redis')).toEqual(both)
    expect(withStores(`${database}?sslmode=require`, 'redis://redis')).toEqual(both)
    expect(withStores(`${database}?sslmode=no-verify`, 'redis://127.0.0.1.example')).toEqual(both)
    const several = 'postgresql://wallet@localhost,postgres/wallet?target_session_attrs=primary'
    expect(withStores(several, 'rediss://redis')).toEqual(['DATABASE_URL'])
    expect(withStores(`${several}&sslmode=verify-full`, 'rediss://redis')).toEqual([])
    expect(withStores('postgresql://wallet@127.0.0.1/wallet', 'redis://[::1]:6379')).toEqual([])
    expect(withStores('postgresql:///wallet?host=/run/postgresql', 'redis://localhost')).toEqual([])
    expect(withStores(database, 'redis://redis', { ENVIRONMENT: 'development' })).toEqual([])
  })

  it('include, in production, nobody having decided what is lost with the database', () => {
    const problem = [expect.stringMatching(/^DATABASE_DURABILITY: must be set in production/)]
    expect(find({ DATABASE_DURABILITY: undefined })).toEqual(problem)
    expect(find({ DATABASE_DURABILITY: 'accept-loss' })).toEqual([])
    expect(find({ DATABASE_DURABILITY: undefined, ENVIRONMENT: 'development' })).toEqual([])
  })

  it('include, in production, http URLs and reflection: each is named', () => {
    const unsafe = {
      PUBLIC_URL: 'http://wallet.example',
      PAGE_URL: 'http://page.example',
      GRPC_REFLECTION: true
    }
    expect(find(unsafe)).toEqual([
      'PUBLIC_URL: must be an https URL in production',
      'PAGE_URL: must be an https URL in production',
      'GRPC_REFLECTION: must be false in production'
    ])
    expect(find({ ...unsafe, ENVIRONMENT: 'development' })).toEqual([])
  })
})
