/**
 * Reads from Redis' `INFO memory` whether it may forget what it was told to keep.
 *
 * @returns the policy by which it evicts keys when it is full; undefined when it never does
 */
export function evictionPolicyOf(info: string): string | undefined {
  const read = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
  const policy = read('maxmemory_policy')
  return policy === 'noeviction' || (read('maxmemory') ?? '0') === '0' ? undefined : policy
}
