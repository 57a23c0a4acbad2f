/**
 * Reads from Redis' `INFO memory` whether it may evict keys.
 *
 * @returns its eviction policy; undefined when it never evicts
 */
export function evictionPolicyOf(info: string): string | undefined {
  const read = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
  const policy = read('maxmemory_policy')
  return policy === 'noeviction' || (read('maxmemory') ?? '0') === '0' ? undefined : policy
}
