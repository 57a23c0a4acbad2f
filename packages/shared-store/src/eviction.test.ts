import { describe, expect, it } from '@jest/globals'
import { evictionPolicyOf } from './eviction.js'

const infoOf = (maxmemory: string, policy: string): string =>
  `# Memory\r\nused_memory:1048576\r\nmaxmemory:${maxmemory}\r\nmaxmemory_human:1M\r\nmaxmemory_policy:${policy}\r\n`

describe('a Redis', () => {
  it('may evict with a limit and an eviction policy', () => {
    expect(evictionPolicyOf(infoOf('104857600', 'volatile-lru'))).toBe('volatile-lru')
    expect(evictionPolicyOf(infoOf('104857600', 'allkeys-random'))).toBe('allkeys-random')
  })

  it('never evicts without a limit, or with noeviction', () => {
    expect(evictionPolicyOf(infoOf('0', 'volatile-lru'))).toBeUndefined()
    expect(evictionPolicyOf(infoOf('104857600', 'noeviction'))).toBeUndefined()
  })
})
