import type { RedisTopology } from './redis-place.js'

/** Number of groups of keys in a cluster: so many that they spread over its servers, and that losing one costs little. */
const TAGS = 32

/**
 * The start of the names of keys that a cluster keeps together: a hash tag. Elsewhere all keys are together, and it is empty.
 *
 * @param key keys with the same tag are on the same server
 */
export function tagOf(key: string, topology: RedisTopology): string {
  if (topology !== 'cluster') return ''
  let hash = 0
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) >>> 0
  return textOf(hash % TAGS)
}

/** All tags. */
export function tagsOf(topology: RedisTopology): string[] {
  return topology === 'cluster' ? Array.from({ length: TAGS }, (_, number) => textOf(number)) : ['']
}

function textOf(number: number): string {
  return `{${String(number)}}`
}
