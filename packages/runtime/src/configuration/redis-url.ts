import { splitHosts } from './split-hosts.js'

/**
 * The URLs of the hosts of a Redis: `rediss://user:password@a:26379,b:26379` has two, with the same user and password.
 *
 * @returns one URL for each host; undefined if the text is no such URL
 */
export function splitRedisUrl(text: string): readonly [string, ...string[]] | undefined {
  return splitHosts(text, /^rediss?:/i)
}
