/** Everything before the hosts, the hosts, and everything after them. */
const REDIS_URL = /^(rediss?:\/\/(?:[^/?#]*@)?)([^/?#@]*)((?:[/?#].*)?)$/i

/**
 * The URLs of the hosts of a Redis: `rediss://user:password@a:26379,b:26379` has two, with the same user and password.
 *
 * @returns one URL for each host; undefined if the text is no such URL
 */
export function splitRedisUrl(text: string): readonly [string, ...string[]] | undefined {
  const [, start, hosts, end] = REDIS_URL.exec(text) ?? []
  if (start === undefined || hosts === undefined || end === undefined) return undefined
  const [first = '', ...others] = hosts.split(',')
  if (others.length > 0 && [first, ...others].includes('')) return undefined
  const urls = [first, ...others].map((host) => `${start}${host}${end}`) as [string, ...string[]]
  return urls.every((url) => URL.canParse(url)) ? urls : undefined
}
