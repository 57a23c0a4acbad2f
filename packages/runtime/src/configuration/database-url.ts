import { splitHosts } from './split-hosts.js'

/** What a session must be able to do, where a URL names several hosts: only a primary can. */
const OF_PRIMARY: readonly (string | null)[] = ['read-write', 'primary']

/**
 * The URLs of the hosts of a database. `postgresql://a:5432,b:5432/wallet?target_session_attrs=read-write` is one on two hosts, of
 * which one is the primary, as for libpq.
 *
 * @returns one URL for each host; undefined if the text is no such URL, or names several hosts and not that it is about the primary
 */
export function splitDatabaseUrl(text: string): readonly [string, ...string[]] | undefined {
  const urls = splitHosts(text, /^postgres(?:ql)?:/i)
  if (urls === undefined || urls.length === 1) return urls
  const attributes = new URL(urls[0]).searchParams.get('target_session_attrs')
  return OF_PRIMARY.includes(attributes) ? urls : undefined
}
