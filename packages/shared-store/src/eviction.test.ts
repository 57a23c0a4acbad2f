import { describe, expect, it } from '@jest/globals'
import { evictionPolicyOf } from './eviction.js'

const infoOf = (maxmemory: string, policy: string): string =>
  `# Memory\r\nused_memory:1048576\r\nmaxmemory:${maxmemory}\r\nmaxmemory_human:1M\r\nmaxmemory_policy:${policy}\r\n`

describe('a Redis', () => {
  it('evicts what it was told to keep when it has a limit and a policy for it', () => {
    expect(evictionPolicyOf(infoOf('104857600', 'volatile-lru'))).toBe('volatile-lru')
    expect(evictionPolicyOf(infoOf('104857600', 'allkeys-random'))).toBe('allkeys-random')
  })

  it('evicts nothing without a limit, or when it is told not to', () => {
    expect(evictionPolicyOf(infoOf('0', 'volatile-lru'))).toBeUndefined()
    expect(evictionPolicyOf(infoOf('104857600', 'noeviction'))).toBeUndefined()
  })
})
