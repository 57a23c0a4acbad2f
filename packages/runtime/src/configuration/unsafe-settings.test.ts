import { describe, expect, it } from '@jest/globals'
import { findUnsafeSettings, Secret } from './index.js'
import type { GuardedSettings } from './unsafe-settings.js'

const SAFE = {
  ENVIRONMENT: 'production',
  REPLICA_COUNT: 1,
  REDIS_TOPOLOGY: 'single',
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

  it('include, in production, sentinels and clusters in plain text, wherever they are', () => {
    const problem = [expect.stringMatching(/^REDIS_URL: must be a rediss URL in production/)]
    const several = {
      REDIS_TOPOLOGY: 'cluster',
      REDIS_URL: new Secret('redis://localhost:1,localhost:2')
    } as const
    expect(find(several)).toEqual(problem)
    expect(find({ ...several, REDIS_URL: new Secret('rediss://a,b') })).toEqual([])
    expect(find({ ...several, ENVIRONMENT: 'development' })).toEqual([])
    const sentinels = { REDIS_TOPOLOGY: 'sentinel', REDIS_SENTINEL_NAME: 'wallet' } as const
    expect(find({ ...sentinels, REDIS_URL: new Secret('redis://localhost') })).toEqual(problem)
    expect(find({ ...sentinels, REDIS_URL: new Secret('rediss://a:26379,b:26379/1') })).toEqual([])
  })

  it.each<[RegExp, Partial<GuardedSettings>]>([
    [/^REDIS_TOPOLOGY: must say what the hosts/, { REDIS_URL: new Secret('rediss://a,b') }],
    [/^REDIS_URL: required with REDIS_TOPOLOGY cluster/, { REDIS_TOPOLOGY: 'cluster' }],
    [
      /^REDIS_SENTINEL_NAME: required with REDIS_TOPOLOGY sentinel/,
      { REDIS_TOPOLOGY: 'sentinel', REDIS_URL: new Secret('rediss://a') }
    ],
    [/^REDIS_SENTINEL_NAME: only with REDIS_TOPOLOGY sentinel/, { REDIS_SENTINEL_NAME: 'wallet' }],
    [/^REDIS_SENTINEL_USERNAME: only with/, { REDIS_SENTINEL_USERNAME: 'wallet' }],
    [/^REDIS_SENTINEL_PASSWORD: only with/, { REDIS_SENTINEL_PASSWORD: new Secret('a secret of theirs') }],
    [
      /^REDIS_URL: must name no database but 0/,
      { REDIS_TOPOLOGY: 'cluster', REDIS_URL: new Secret('rediss://a,b/1') }
    ],
    [
      /^REDIS_URL: must end with the number of a database/,
      { REDIS_TOPOLOGY: 'cluster', REDIS_URL: new Secret('rediss://a,b/wallet') }
    ]
  ])('include settings of Redis that contradict each other, in development too: %s', (problem, settings) => {
    for (const ENVIRONMENT of ['production', 'development'] as const) {
      expect(find({ ...settings, ENVIRONMENT })[0]).toMatch(problem)
    }
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
