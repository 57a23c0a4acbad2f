/** Everything before the hosts of a URL, its hosts, and everything after them. */
const PARTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)((?:[/?#].*)?)$/i

/**
 * The URLs of the hosts of a connection URL: `scheme://user:password@a:1,b:2/name` has two, with all else the same.
 *
 * @param scheme what it must begin with
 * @returns one URL for each host; undefined if the text is no such URL
 */
export function splitHosts(text: string, scheme: RegExp): readonly [string, ...string[]] | undefined {
  const [, start, hosts, end] = PARTS.exec(text) ?? []
  if (start === undefined || hosts === undefined || end === undefined || !scheme.test(start)) return undefined
  const [first = '', ...others] = hosts.split(',')
  // Without a host it is one of this machine, which is one alone.
  if (others.length > 0 && [first, ...others].includes('')) return undefined
  const urlOf = (host: string): string => `${start}${host}${end}`
  const urls = [urlOf(first), ...others.map(urlOf)] as const
  return urls.every((url) => URL.canParse(url)) ? urls : undefined
}
