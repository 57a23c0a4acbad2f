/** Everything before the hosts, the hosts, and everything after them. */
const DATABASE_URL = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)((?:[/?#].*)?)$/i

/** What a session must be able to do, where a URL names several hosts: only a primary can. */
const OF_PRIMARY: readonly (string | null)[] = ['read-write', 'primary']

/**
 * The URLs of the hosts of a database. `postgresql://a:5432,b:5432/wallet?target_session_attrs=read-write` is one on two hosts, of
 * which one is the primary, as for libpq.
 *
 * @returns one URL for each host; undefined if the text is no such URL, or names several hosts and not that it is about the primary
 */
export function splitDatabaseUrl(text: string): readonly [string, ...string[]] | undefined {
  const [, start, hosts, end] = DATABASE_URL.exec(text) ?? []
  if (start === undefined || hosts === undefined || end === undefined) return undefined
  const [first = '', ...others] = hosts.split(',').map((host) => `${start}${host}${end}`)
  if (![first, ...others].every((url) => URL.canParse(url))) return undefined
  if (others.length === 0) return [first]
  const attributes = new URL(first).searchParams.get('target_session_attrs')
  return OF_PRIMARY.includes(attributes) && !hosts.split(',').includes('') ? [first, ...others] : undefined
}
